// Command model passes what a user says to a language model and shows its words as they come.
//
// The model is asked within flow.Do: whatever crashes after it has answered, it is not
// asked again, and the user gets one answer, once. What a user says while it answers ends
// that, and is asked together with what was said before. MODEL_URL is where it is asked: it
// gets what was said as JSON and answers with events, each a JSON with more of the text.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/bot"
	"github.com/botmesh-go/botmesh/flow"
	"github.com/botmesh-go/botmesh/markdown"
	"github.com/botmesh-go/botmesh/worker"
)

// line is what was said, and by whom.
type line struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// talk is the end of the conversation, which the model is told each time.
const talk bot.State[[]line] = "talk"

const remembered = 20 // lines

func main() { worker.Main(model(os.Getenv("MODEL_URL"))) }

func model(url string) *bot.Bot {
	client := &http.Client{Timeout: 50 * time.Second} // less than a run may take
	b := bot.New()
	b.Command("/forget", func(c *bot.Context) error {
		*talk.Of(c) = nil
		c.Say("forgotten")
		return nil
	})
	b.Fallback(func(c *bot.Context) error {
		c.Meanwhile(flow.Interrupt)
		c.Typing()
		message, err := c.Stream("…") // which becomes the answer
		if err != nil {
			return err
		}
		lines := append(*talk.Of(c), line{"user", c.Text()})
		for _, more := range c.Also() { // which ended earlier runs
			lines = append(lines, line{"user", more.Text})
		}
		// What was said by then is a part of the question, and so of its name.
		answer, err := flow.Do(c, fmt.Sprint("answer ", len(c.Also())), func(ctx context.Context, key string) (string, error) {
			return complete(ctx, client, url, key, lines, func(soFar string) { message.Show(markdown.Send(soFar)) })
		})
		if err != nil {
			return err // it is asked again: at once with what was said meanwhile, else after a while
		}
		lines = append(lines, line{"bot", answer})
		*talk.Of(c) = lines[max(0, len(lines)-remembered):]
		message.Show(markdown.Send(answer))
		return nil
	})
	return b
}

// most bounds an answer, in bytes.
const most = 1 << 20

// complete asks the model how a conversation goes on. It calls show with what it has of the
// answer, again and again.
func complete(ctx context.Context, client *http.Client, url, key string, lines []line, show func(soFar string)) (string, error) {
	body, err := json.Marshal(lines)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the model answered %s", resp.Status)
	}
	var answer strings.Builder
	for events := bufio.NewScanner(http.MaxBytesReader(nil, resp.Body, most)); events.Scan(); {
		data, ok := strings.CutPrefix(events.Text(), "data: ")
		switch {
		case !ok: // between two events
			continue
		case data == done:
			return answer.String(), nil
		}
		var more line
		if err := json.Unmarshal([]byte(data), &more); err != nil {
			return "", fmt.Errorf("the model's answer: %w", err)
		}
		answer.WriteString(more.Text)
		show(answer.String())
	}
	return "", errors.New("the model's answer has no end")
}

// done is the last event of an answer.
const done = "[DONE]"
