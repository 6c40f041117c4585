package standardwebhooks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// Open implements [provider.Opener]: a file's reference is its https address, at a public
// host unless the configuration allows others. It is asked for without any secret.
func (s *Sender) Open(ctx context.Context, _ botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	f, err := s.files.Open(ctx, m.Ref, m)
	switch {
	case httpcall.Gone(err), err == httpcall.StatusError(http.StatusBadRequest): // which storage answers to an address that has expired
		return nil, fmt.Errorf("standardwebhooks: %w: %w", botmesh.ErrFileGone, err)
	case err != nil:
		return nil, fmt.Errorf("standardwebhooks: reading a file: %w", err)
	}
	return f, nil
}
