// Command model passes what a user says to a language model and answers with its words.
//
// The model is asked within flow.Do: whatever crashes after it has answered, it is not
// asked again, and the user gets one answer, once. MODEL_URL is where it is asked.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
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
		message, err := c.Stream("…") // which becomes the answer
		if err != nil {
			return err
		}
		lines := append(*talk.Of(c), line{"user", c.Text()})
		answer, err := flow.Do(c, "answer", func(ctx context.Context, key string) (string, error) {
			return complete(ctx, client, url, key, lines)
		})
		if err != nil {
			return err // it is asked again, after a while
		}
		lines = append(lines, line{"bot", answer})
		*talk.Of(c) = lines[max(0, len(lines)-remembered):]
		message.Show(markdown.Send(answer))
		return nil
	})
	return b
}

// complete asks the model how a conversation goes on.
func complete(ctx context.Context, client *http.Client, url, key string, lines []line) (string, error) {
	body, err := json.Marshal(lines)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer line
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the model answered %s", resp.Status)
	}
	err = json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&answer)
	return answer.Text, err
}
