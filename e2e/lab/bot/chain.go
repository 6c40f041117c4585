// Package bot is the bot of the lab. What it answers proves what became of every
// message before: the answer to a free text names a hash over all free texts of the
// chat, in order, and a number that no other run of that message would give.
//
// Commands and what their flows ask are the demo bot's.
//
// What belongs here: the bot, and how its answers are computed again by who judges
// them.
package bot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/botmesh-go/botmesh/flow"
)

// Chain is what the bot keeps of a chat: the free texts so far.
type Chain struct {
	Count int    `json:"count"`
	Hash  string `json:"hash"`
	// Nonce is the last run's own: two runs of one message never agree.
	Nonce string `json:"nonce"`
}

// value is the name under which the chain stands in a chat's state.
const value = "lab"

// Next is the chain after a run, marked by nonce, of the record id.
func (c Chain) Next(id, nonce string) Chain {
	return Chain{Count: c.Count + 1, Hash: digest(c.Hash, id, nonce), Nonce: nonce}
}

// Replies are the answers to the record id that led to c: none to three, as the id
// says.
func (c Chain) Replies(id string) []string {
	n := int(sha256.Sum256([]byte(id))[0] % 4)
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%d:%s:%s:%d", c.Count, c.Hash, c.Nonce, i)
	}
	return texts
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Read returns the chain that stands in a chat's state, and whether a flow waits
// for an answer: then the next free text is one, and no link of the chain.
func Read(state []byte) (c Chain, waiting bool, err error) {
	chat, err := flow.DecodeChat(state)
	if err != nil {
		return Chain{}, false, fmt.Errorf("lab bot: %w", err)
	}
	c, err = chainOf(chat)
	return c, chat.Position != nil, err
}

func chainOf(chat flow.Chat) (c Chain, err error) {
	raw, ok := chat.Values[value]
	if !ok {
		return Chain{}, nil
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Chain{}, fmt.Errorf("lab bot: read the chain: %w", err)
	}
	return c, nil
}
