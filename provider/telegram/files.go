package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// Open implements [provider.Opener]. Telegram gives bots files of up to 20 MB, at an
// address that it keeps for an hour: each call asks for a new one.
func (s *Sender) Open(ctx context.Context, _ botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	at, err := s.api.filePath(ctx, m.Ref)
	if err != nil {
		return nil, err
	}
	if m.Name == "" {
		m.Name = path.Base(at)
	}
	f, err := s.api.client.Open(ctx, s.api.files+at, nil, m)
	switch {
	case httpcall.Gone(err):
		return nil, fmt.Errorf("telegram: %w: %w", botmesh.ErrFileGone, err)
	case err != nil:
		return nil, fmt.Errorf("telegram: reading a file: %w", err)
	}
	return f, nil
}

// filePath asks where a file is now.
func (a api) filePath(ctx context.Context, id string) (string, error) {
	got, err := a.call(ctx, "getFile", map[string]string{"file_id": id})
	if err != nil {
		return "", err
	}
	if !got.OK {
		err := fmt.Errorf("telegram: getFile: %d %s", got.Code, got.Description)
		switch {
		case got.Code != http.StatusBadRequest || got.foreign || strings.Contains(got.Description, "temporarily"):
			return "", err
		case strings.Contains(got.Description, "too big"):
			return "", fmt.Errorf("%w: %w", botmesh.ErrFileTooLarge, err)
		}
		return "", fmt.Errorf("%w: %w", botmesh.ErrFileGone, err)
	}
	var file struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(got.Result, &file); err != nil || file.Path == "" {
		return "", fmt.Errorf("telegram: getFile: %w: the answer does not say where it is", botmesh.ErrFileGone)
	}
	if strings.HasPrefix(file.Path, "/") { // a Bot API server of one's own, in its local mode
		return "", fmt.Errorf("telegram: getFile: %w: it is on the disk of the Bot API server", botmesh.ErrFileUnsupported)
	}
	return file.Path, nil
}
