package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// secretHeader is where Telegram puts the webhook's secret.
const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

// firstUpdate keeps the update ids of two platforms apart.
const firstUpdate = 100_000_000

// Update is one webhook's body. Posted again it is the same event.
type Update struct {
	ID   int64
	Body []byte
}

// Message makes the update of a private message.
func (p *Platform) Message(chat int64, text string) Update {
	id := firstUpdate + p.update.Add(1)
	who := map[string]any{"id": chat, "first_name": "User " + strconv.FormatInt(chat, 10)}
	msg := map[string]any{
		"message_id": id,
		"from":       with(who, "is_bot", false),
		"chat":       with(who, "type", "private"),
		"date":       time.Now().Unix(),
		"text":       text,
	}
	if strings.HasPrefix(text, "/") {
		command, _, _ := strings.Cut(text, " ")
		msg["entities"] = []map[string]any{{"type": "bot_command", "offset": 0, "length": len(command)}}
	}
	body, err := json.Marshal(map[string]any{"update_id": id, "message": msg})
	if err != nil {
		panic(err) // maps of plain values
	}
	return Update{ID: id, Body: body}
}

func with(m map[string]any, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// Answer is what an ingress said to a webhook.
type Answer struct {
	Status     int
	Body       string
	RetryAfter string
	Took       time.Duration
}

// Taken reports whether the platform would not deliver the update again.
func (a Answer) Taken() bool { return a.Status >= 200 && a.Status < 300 }

// Post posts an update once to an ingress, given by its base address.
func (p *Platform) Post(ctx context.Context, ingress string, u Update) (Answer, error) {
	return p.PostAs(ctx, ingress, p.cfg.Secret, u.Body)
}

// PostAs posts any body with any secret.
func (p *Platform) PostAs(ctx context.Context, ingress, secret string, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ingress+"/webhooks/telegram", bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("platform: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(secretHeader, secret)
	began := time.Now()
	resp, err := p.client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("platform: posting: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return Answer{}, fmt.Errorf("platform: reading the answer: %w", err)
	}
	return Answer{
		Status:     resp.StatusCode,
		Body:       string(text),
		RetryAfter: resp.Header.Get("Retry-After"),
		Took:       time.Since(began),
	}, nil
}

// Deliver posts an update until an ingress takes it, one after the other, as the
// platform does over its load balancer. The pause between two tries is a tenth of
// a second, whatever the answer asked for, so that runs are short.
func (p *Platform) Deliver(ctx context.Context, ingress []string, u Update) error {
	const pause = 100 * time.Millisecond
	first := rand.IntN(len(ingress))
	for i := first; ; i++ {
		a, err := p.Post(ctx, ingress[i%len(ingress)], u)
		if err == nil && a.Taken() {
			return nil
		}
		if err == nil && a.Status >= 400 && a.Status < 500 {
			return fmt.Errorf("%w: update %d: %d %s", ErrNotTaken, u.ID, a.Status, a.Body)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: update %d: %d %s (%v): %w", ErrNotTaken, u.ID, a.Status, a.Body, err, context.Cause(ctx))
		}
	}
}

// Say delivers a message of a chat's user.
func (p *Platform) Say(ctx context.Context, ingress []string, chat int64, text string) error {
	return p.Deliver(ctx, ingress, p.Message(chat, text))
}
