package telegramtest

import (
	"net/url"
	"path"
	"strings"

	"github.com/botmesh-go/botmesh/provider/fakeplatform"
)

// files are the fields of a call that send a file: an address, or a file_id.
type files struct {
	Photo    string `json:"photo"`
	Video    string `json:"video"`
	Audio    string `json:"audio"`
	Voice    string `json:"voice"`
	Document string `json:"document"`
	Sticker  string `json:"sticker"`
}

// one is the name and the content of the first field that is there, empty for none.
func (f files) one() (kind, at string) {
	for _, field := range [...]struct{ kind, at string }{
		{"photo", f.Photo}, {"video", f.Video}, {"audio", f.Audio}, {"voice", f.Voice}, {"document", f.Document}, {"sticker", f.Sticker},
	} {
		if field.at != "" {
			return field.kind, field.at
		}
	}
	return "", ""
}

// media is the file of a message: a file_id is one of [Server.AddFile].
func (s *Server) media(o *outgoing) fakeplatform.Media {
	kind, at := o.one()
	if _, known := s.file(at); known {
		return fakeplatform.Media{Kind: kind, Ref: at}
	}
	return fakeplatform.Media{Kind: kind, URL: at}
}

// fileFault is what Telegram says against the file of a call, in its words; empty for
// nothing. What is at a host below .invalid can not be fetched.
func (s *Server) fileFault(method string, o *outgoing) string {
	if o.files == (files{}) && (method == "sendMessage" || method == "editMessageText") {
		return ""
	}
	m := s.media(o)
	at, err := url.Parse(m.URL)
	switch {
	case "send"+m.Kind != strings.ToLower(method) || o.Text != "" || m.Kind == "sticker" && o.Caption != "":
		return "there is no " + strings.ToLower(strings.TrimPrefix(method, "send")) + " in the request"
	case m.Ref != "":
	case err != nil || at.Scheme != "http" && at.Scheme != "https":
		return "wrong remote file identifier specified: Wrong padding in the string"
	case strings.HasSuffix(at.Hostname(), ".invalid"):
		return "wrong file identifier/HTTP URL specified"
	case m.Kind == "document" && path.Ext(at.Path) == ".docx":
		return "wrong type of the web page content"
	}
	return ""
}
