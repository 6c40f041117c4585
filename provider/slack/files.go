package slack

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

// fileDomain is where Slack keeps files: no other host, besides the API's own, is told the
// token.
const fileDomain = "slack.com"

// Open implements [provider.Opener]. The app needs the scope files:read.
func (s *Sender) Open(ctx context.Context, _ botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	at, err := s.locate(ctx, m.Ref)
	if err != nil {
		return nil, err
	}
	address := cmp.Or(at.Download, at.Private)
	switch {
	case at.Mode == "tombstone" || at.Mode == "hidden_by_limit":
		return nil, fmt.Errorf("slack: %w: the workspace shows it no more", botmesh.ErrFileGone)
	case at.External || address == "":
		return nil, fmt.Errorf("slack: %w: it is not kept by Slack", botmesh.ErrFileUnsupported)
	case !httpcall.SameHost(address, s.url) && !httpcall.Within(address, fileDomain):
		return nil, fmt.Errorf("slack: %w: it is at a host that is not Slack's", botmesh.ErrFileUnsupported)
	}
	m.Name, m.Type = cmp.Or(m.Name, at.Name), cmp.Or(m.Type, at.Type)
	f, err := s.client.Open(ctx, address, s.header, m)
	if httpcall.Gone(err) {
		return nil, fmt.Errorf("slack: %w: %w", botmesh.ErrFileGone, err)
	}
	if err != nil {
		return nil, fmt.Errorf("slack: reading a file: %w (a redirect to the login says that the app may not: files:read)", err)
	}
	return f, nil
}

// place is what Slack tells of a file.
type place struct {
	Name     string `json:"name"`
	Type     string `json:"mimetype"`
	Mode     string `json:"mode"`
	External bool   `json:"is_external"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
}

func (s *Sender) locate(ctx context.Context, id string) (place, error) {
	got, err := s.client.Get(ctx, s.url+"files.info?file="+url.QueryEscape(id), s.header)
	if err != nil {
		return place{}, fmt.Errorf("slack: calling files.info: %w", err)
	}
	var a struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		File  place  `json:"file"`
	}
	switch err := json.Unmarshal(got.Body, &a); {
	case got.Status != http.StatusOK || err != nil:
		return place{}, fmt.Errorf("slack: files.info: %d %s", got.Status, http.StatusText(got.Status))
	case a.OK:
		return a.File, nil
	}
	err = fmt.Errorf("slack: files.info: %s", a.Error)
	switch a.Error {
	case "file_not_found", "file_deleted":
		return place{}, fmt.Errorf("%w: %w", botmesh.ErrFileGone, err)
	}
	return place{}, err
}
