package whatsapptest

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

type media struct {
	Image    *file `json:"image"`
	Video    *file `json:"video"`
	Audio    *file `json:"audio"`
	Document *file `json:"document"`
	Sticker  *file `json:"sticker"`
}

type file struct {
	ID      string `json:"id"`
	Link    string `json:"link"`
	Caption string `json:"caption"`
	Name    string `json:"filename"`
}

// file is the file of a message of that type, nil if there is none or another one.
func (m media) file(typ string) *file {
	var found *file
	for kind, f := range map[string]*file{"image": m.Image, "video": m.Video, "audio": m.Audio, "document": m.Document, "sticker": m.Sticker} {
		switch {
		case f != nil && kind != typ:
			return nil
		case f != nil:
			found = f
		}
	}
	return found
}

// message adds the file to m.
func (f *file) message(typ string, m *fakeplatform.Message) {
	m.Text, m.Media = f.Caption, fakeplatform.Media{Kind: typ, URL: f.Link, Ref: f.ID, Name: f.Name}
}

// fault is what the platform says against the form of a file.
func (f *file) fault(typ string) string {
	switch {
	case (f.ID == "") == (f.Link == ""):
		return typ + " needs either id or link"
	case f.Caption != "" && (typ == "audio" || typ == "sticker"), f.Name != "" && typ != "document":
		return "Unexpected key on param " + typ
	case f.Caption != "":
		return within(typ+".caption", f.Caption, 1024)
	}
	return ""
}

// fetch is how the platform refuses a file that it can not have: an id that is not one of
// [Server.AddFile], an address of a host below .invalid. The real one tells the second
// later, mostly; see [Undelivered].
func (s *Server) fetch(f *file) (refusal fakeplatform.Fault) {
	if f.ID != "" {
		s.files.mu.Lock()
		_, ok := s.files.kept[f.ID]
		s.files.mu.Unlock()
		if !ok {
			return Error(http.StatusBadRequest, 100, "(#100) the id is not a valid whatsapp business account media attachment ID")
		}
		return refusal
	}
	if at, err := url.Parse(f.Link); err != nil || at.Host == "" || strings.HasSuffix(at.Hostname(), ".invalid") {
		return Error(http.StatusBadRequest, 131053, "(#131053) Media upload error")
	}
	return refusal
}
