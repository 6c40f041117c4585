package telegramtest

import (
	"net/url"
	"path"
	"strings"
)

// Media is a file that the bot sent: its kind ("photo", "video", "audio", "voice",
// "document", "sticker") and what it was given by, an address or a file_id.
type Media struct{ Kind, At string }

// files are the fields of a call that send a file.
type files struct {
	Photo    string `json:"photo"`
	Video    string `json:"video"`
	Audio    string `json:"audio"`
	Voice    string `json:"voice"`
	Document string `json:"document"`
	Sticker  string `json:"sticker"`
}

// media is the file of a call, the zero Media for none or several.
func (f files) media() (m Media) {
	for _, field := range []Media{
		{"photo", f.Photo}, {"video", f.Video}, {"audio", f.Audio}, {"voice", f.Voice}, {"document", f.Document}, {"sticker", f.Sticker},
	} {
		switch {
		case field.At == "":
		case m != Media{}:
			return Media{}
		default:
			m = field
		}
	}
	return m
}

// takeBy takes a message by a method, each for its kind of file. Of addresses, those of hosts below
// .invalid can not be fetched; of file ids, those are known that were given to AddFile.
func (s *Server) takeBy(method string) func(*outgoing, int64) (int64, string) {
	return func(o *outgoing, call int64) (int64, string) {
		m := o.media()
		at, err := url.Parse(m.At)
		switch _, known := s.file(m.At); {
		case method == "sendMessage" && m == (Media{}):
		case "send"+m.Kind != strings.ToLower(method) || o.Text != "" || m.Kind == "sticker" && o.Caption != "":
			return 0, "there is no " + strings.ToLower(strings.TrimPrefix(method, "send")) + " in the request"
		case known:
		case err != nil || at.Scheme != "http" && at.Scheme != "https":
			return 0, "wrong remote file identifier specified: Wrong padding in the string"
		case strings.HasSuffix(at.Hostname(), ".invalid"):
			return 0, "wrong file identifier/HTTP URL specified"
		case m.Kind == "document" && path.Ext(at.Path) == ".docx":
			return 0, "wrong type of the web page content"
		}
		return s.take(o, call)
	}
}
