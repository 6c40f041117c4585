// Package chain is what the lab's bot keeps of a chat and answers to a free text: a
// link of a chain of hashes over all free texts of the chat, in order, each with a
// number that no other run of that message would give.
//
// What belongs here: the chain, to be made by the bot and computed again by who
// judges it.
package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

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
		return Chain{}, false, fmt.Errorf("chain: %w", err)
	}
	c, err = Of(chat)
	return c, chat.Position != nil, err
}

// Of returns the chain that a chat keeps, the zero Chain if none.
func Of(chat flow.Chat) (c Chain, err error) {
	raw, ok := chat.Values[value]
	if !ok {
		return Chain{}, nil
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return Chain{}, fmt.Errorf("chain: read it: %w", err)
	}
	return c, nil
}

// Keep puts the chain among what a chat keeps.
func (c Chain) Keep(chat *flow.Chat) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	if chat.Values == nil {
		chat.Values = map[string]json.RawMessage{}
	}
	chat.Values[value] = raw
	return nil
}

// Links reports whether a text becomes a link of the chain: one that is no command,
// nor an answer that a flow waits for.
func Links(text string, waiting bool) bool { return !waiting && !strings.HasPrefix(text, "/") }
