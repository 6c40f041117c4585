package whatsapp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// fileDomains are where the platform keeps files: no other host, besides the API's own, is
// told the access token.
var fileDomains = []string{"fbsbx.com", "facebook.com", "whatsapp.net"}

// Open implements [provider.Opener]. The platform keeps files for 30 days; their addresses
// are good for five minutes, so each call asks for one.
func (s *Sender) Open(ctx context.Context, _ botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	at, err := s.locate(ctx, m.Ref)
	if err != nil {
		return nil, err
	}
	if !httpcall.SameHost(at.URL, s.api) && !httpcall.Within(at.URL, fileDomains...) {
		return nil, fmt.Errorf("whatsapp: %w: it is at a host that is not the platform's", botmesh.ErrFileUnsupported)
	}
	m.Type = cmp.Or(m.Type, at.Type)
	f, err := s.client.Open(ctx, at.URL, s.header, m)
	switch {
	case httpcall.Gone(err):
		return nil, fmt.Errorf("whatsapp: %w: %w", botmesh.ErrFileGone, err)
	case err != nil:
		return nil, fmt.Errorf("whatsapp: reading a file: %w", err)
	}
	if f.Size < 0 && at.Size > 0 {
		f.Size = at.Size
	}
	return f, nil
}

// place is where a file is for the next minutes.
type place struct {
	URL   string `json:"url"`
	Type  string `json:"mime_type"`
	Size  int64  `json:"file_size"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (s *Sender) locate(ctx context.Context, id string) (place, error) {
	got, err := s.client.Get(ctx, s.api+"/"+url.PathEscape(id), s.header)
	if err != nil {
		return place{}, fmt.Errorf("whatsapp: asking for a file: %w", err)
	}
	var p place
	err = json.Unmarshal(got.Body, &p)
	switch {
	case err == nil && got.Status == http.StatusOK && p.URL != "":
		return p, nil
	case err != nil || p.Error == nil:
		return place{}, fmt.Errorf("whatsapp: asking for a file: %d %s, not from the Graph API", got.Status, http.StatusText(got.Status))
	}
	err = fmt.Errorf("whatsapp: asking for a file: %d %s", p.Error.Code, p.Error.Message)
	switch {
	case p.Error.Code == 100 || p.Error.Code == 131052 && got.Status < 500: // no such object, or one that can not be had any more
		return place{}, fmt.Errorf("%w: %w", botmesh.ErrFileGone, err)
	}
	return place{}, err
}
