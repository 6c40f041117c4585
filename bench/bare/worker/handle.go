package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/bench/bare"
	"github.com/botmesh-go/botmesh/checkpoint"
	"github.com/botmesh-go/botmesh/internal/jet"
)

// claim takes a chat if nobody has it and tells its fence, and where the last
// holder left the chat's letters and receipts; release gives it back.
var (
	claim = redis.NewScript(`
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {0} end
local left = redis.call('HMGET', KEYS[2], 'letter', 'receipt')
return {redis.call('HINCRBY', KEYS[2], 'fence', 1), tonumber(left[1] or 0), tonumber(left[2] or 0)}`)
	release = redis.NewScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], 'letter', ARGV[2], 'receipt', ARGV[3])
redis.call('PUBLISH', KEYS[1], 'free')
return redis.call('DEL', KEYS[1])`)
	scripts = []*redis.Script{claim, release}
)

var errBusy = errors.New("another worker has the chat")

// row is a chat's checkpoint. Recent is as large as the ids that Botmesh keeps.
type row struct {
	Cursor uint64 `json:"cursor"`
	Count  int    `json:"count"`
	Letter string `json:"letter"`
	Recent string `json:"recent"`
}

var recent = strings.Repeat("A", checkpoint.MaxRecent*8*4/3)

// handle makes the calls of one message, in the order of Botmesh's.
func (w *worker) handle(ctx context.Context, chat string, seq uint64) error {
	keys := []string{"bare:{" + chat + "}:turn", "bare:{" + chat + "}:left"}
	left, err := claim.EvalSha(ctx, w.redis, keys, w.name, w.lease.Milliseconds()).Int64Slice()
	if err != nil {
		return err
	}
	if len(left) != 3 {
		return errBusy
	}
	letter, receipt, err := w.turn(ctx, chat, seq, uint64(left[1]), uint64(left[2]))
	if err != nil {
		return err
	}
	return release.EvalSha(ctx, w.redis, keys, w.name, letter, receipt).Err()
}

func (w *worker) turn(ctx context.Context, chat string, seq, letter, receipt uint64) (uint64, uint64, error) {
	subject := bare.RowSubject(w.bot, chat)
	var at row
	stored, err := w.rows.Last(ctx, subject)
	if err == nil {
		err = json.Unmarshal(stored.Data, &at)
	}
	if err != nil && !errors.Is(err, botmesh.ErrNotFound) {
		return 0, 0, err
	}
	if seq <= at.Cursor {
		return letter, receipt, nil
	}
	mail, err := w.inbox.Range(ctx, bare.Subject("bot.in", w.bot, chat), at.Cursor+1, 32)
	if err != nil {
		return 0, 0, err
	}
	for _, m := range mail {
		at = row{Cursor: m.Seq, Count: at.Count + 1, Letter: fmt.Sprintf("count: %d", at.Count+1), Recent: recent}
		if stored.Seq, err = w.put(ctx, w.rows, subject, stored.Seq, at); err != nil {
			return 0, 0, err
		}
		if letter, receipt, err = w.send(ctx, chat, at.Letter, letter, receipt); err != nil {
			return 0, 0, err
		}
	}
	return letter, receipt, nil
}

// send appends the letter and sends it, between a claim and a receipt.
func (w *worker) send(ctx context.Context, chat, text string, letter, receipt uint64) (uint64, uint64, error) {
	letter, err := w.put(ctx, w.outbox, bare.Subject("bot.out", w.bot, chat), letter, text)
	if err != nil {
		return 0, 0, err
	}
	chain := bare.Subject("bot.rcpt", w.bot, chat)
	claimed, err := w.put(ctx, w.outbox, chain, receipt, "claim "+w.name)
	if err != nil {
		return 0, 0, err
	}
	if err := w.call(ctx, chat, text); err != nil {
		return 0, 0, err
	}
	receipt, err = w.put(ctx, w.outbox, chain, claimed, "receipt "+w.name)
	return letter, receipt, err
}

// put publishes what follows a sequence.
func (w *worker) put(ctx context.Context, s jet.Stream, subject string, after uint64, value any) (uint64, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	ack, err := s.Publish(ctx, jet.Publish{Msg: jet.Msg{Subject: subject, Data: data}, Expect: &after})
	return ack.Seq, err
}

func (w *worker) call(ctx context.Context, chat, text string) error {
	body := fmt.Sprintf(`{"chat_id":%s,"text":%q}`, chat, text)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.api, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}
