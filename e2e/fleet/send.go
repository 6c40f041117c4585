package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/botmesh-go/botmesh"
)

// Sending is what a backend asks of a worker: to send a text or a file to a chat.
type Sending struct {
	Token string // BOTMESH_ADMIN_TOKEN
	Chat  string // as people write it: telegram/42
	Text  string
	Media *botmesh.Media
	Key   string // the Idempotency-Key
}

// Send asks the replica, a worker, and returns the status of its answer and the
// place in the journal that it names. An error says that no answer came.
func (r *Replica) Send(ctx context.Context, s Sending) (status int, seq uint64, err error) {
	body, err := json.Marshal(botmesh.Send{Text: s.Text, Media: s.Media})
	if err != nil {
		return 0, 0, fmt.Errorf("fleet: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Admin+"/v1/chats/"+url.PathEscape(s.Chat)+"/send", bytes.NewReader(body))
	if err != nil {
		return 0, 0, fmt.Errorf("fleet: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Idempotency-Key", s.Key)
	resp, err := admin.Do(req)
	if err != nil {
		return 0, 0, fmt.Errorf("fleet: sending by %s: %w", r.Name, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, 0, fmt.Errorf("fleet: sending by %s: %w", r.Name, err)
	}
	var sent struct {
		Seq uint64 `json:"seq"`
	}
	_ = json.Unmarshal(answer, &sent) // a refusal names none
	return resp.StatusCode, sent.Seq, nil
}
