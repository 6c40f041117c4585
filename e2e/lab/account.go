package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/e2e/check"
	"github.com/botmesh-go/botmesh/e2e/history"
)

const (
	// toldChats is how many broken chats are told of, toldEach what is wrong with each,
	// and lookedInto how many are looked into for the shortest stories.
	toldChats  = 3
	toldEach   = 5
	lookedInto = 50
)

// account is what went wrong in a chat, and all that happened in it.
type account struct {
	chat   string
	wrong  []string
	events []history.Event
}

// tell tells what went wrong: first what is of no chat, then chat by chat, those with
// the shortest story first. What happened in such a chat is written into a file of its
// own.
func tell(to io.Writer, dir string, e check.Evidence, v check.Verdict) error {
	var start int64
	if len(e.Events) > 0 {
		start = e.Events[0].T
	}
	accounts, err := accountsOf(dir, v)
	if err != nil {
		return err
	}
	chats := 0
	for i, a := range accounts {
		where := ""
		if a.chat != "" {
			if chats++; chats > toldChats {
				fmt.Fprintf(to, "  and %d more chats\n", len(accounts)-i)
				break
			}
			file := filepath.Join(dir, a.chat+".txt")
			a.events = among(a.events, e.Events)
			if err := os.WriteFile(file, []byte(a.story(start)), 0o644); err != nil {
				return fmt.Errorf("lab: an account: %w", err)
			}
			where = fmt.Sprintf(" chat %s, all that happened in it: %s", a.chat, file)
		}
		fmt.Fprintf(to, "  BROKEN%s\n", where)
		for n, w := range a.wrong {
			if n == toldEach {
				fmt.Fprintf(to, "    and %d more\n", len(a.wrong)-n)
				break
			}
			fmt.Fprintf(to, "    %s\n", w)
		}
	}
	for _, what := range v.Vacuous {
		fmt.Fprintf(to, "  NOTHING WAS PROVED about %s\n", what)
	}
	return nil
}

// accountsOf are the accounts of a verdict in the order in which they are told.
func accountsOf(dir string, v check.Verdict) ([]account, error) {
	var all []account
	place := map[string]int{}
	for _, f := range v.Findings {
		for _, b := range f.Violations {
			i, ok := place[b.Chat]
			if !ok {
				i = len(all)
				place[b.Chat], all = i, append(all, account{chat: b.Chat})
			}
			all[i].wrong = append(all[i].wrong, f.ID+": "+b.Account)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	events, err := history.ReadDir(historyDir(dir), func(chat string) bool {
		i, ok := place[chat]
		return ok && i < lookedInto && chat != ""
	})
	for _, e := range events {
		all[place[e.Chat]].events = append(all[place[e.Chat]].events, e)
	}
	slices.SortStableFunc(all, func(a, b account) int {
		known := func(a account) int { return min(len(a.events), 1) }
		return cmp.Or(cmp.Compare(min(len(a.chat), 1), min(len(b.chat), 1)), -cmp.Compare(known(a), known(b)), cmp.Compare(len(a.events), len(b.events)))
	})
	return all, err
}

// among are the events of a chat and, in its time, what befell processes and servers.
func among(chat, all []history.Event) []history.Event {
	if len(chat) == 0 {
		return nil
	}
	from, to := chat[0].T, chat[len(chat)-1].T
	for _, e := range all {
		switch e.Kind {
		case history.Fault, history.Point, history.Stall, history.Exited, history.Healed:
			if from <= e.T && e.T <= to {
				chat = append(chat, e)
			}
		}
	}
	slices.SortStableFunc(chat, func(a, b history.Event) int { return cmp.Compare(a.T, b.T) })
	return chat
}

// story is what happened in a chat, a line each, an operation at its call.
func (a account) story(start int64) string {
	type id struct {
		start string
		n     uint64
	}
	results := map[id]history.Event{}
	for _, e := range a.events {
		if e.Phase == history.Ended {
			results[id{e.Start, e.Of}] = e
		}
	}
	var b strings.Builder
	for _, w := range a.wrong {
		fmt.Fprintln(&b, w)
	}
	fmt.Fprintln(&b)
	for _, e := range a.events {
		if e.Phase == history.Ended {
			continue
		}
		fmt.Fprintf(&b, "%9.3fs  %-10s  %s", time.Duration(e.T-start).Seconds(), e.Process, words(e))
		if r, ok := results[id{e.Start, e.N}]; ok {
			for _, same := range []struct{ call, result *string }{{&e.ID, &r.ID}, {&e.Part, &r.Part}, {&e.Target, &r.Target}, {&e.By, &r.By}, {&e.Text, &r.Text}} {
				if *same.result == *same.call {
					*same.result = ""
				}
			}
			fmt.Fprintf(&b, " = %s, %v", words(r), time.Duration(r.T-e.T).Round(time.Millisecond))
		} else if e.Phase == history.Began {
			b.WriteString(" = NO ANSWER")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// words are what an event says: what it is, or how it ended, and every field that is set.
func words(e history.Event) string {
	said := []string{string(e.Kind)}
	if e.Phase == history.Ended {
		said = nil
	}
	add := func(name string, value any) {
		if v := fmt.Sprint(value); v != "" && v != "0" && v != "0s" && v != "false" {
			said = append(said, strings.TrimPrefix(name+"="+v, "="))
		}
	}
	add("", e.Outcome)
	add("status", e.Status)
	add("", e.Entry)
	add("", e.ID)
	add("part", e.Part)
	add("at", e.Target)
	add("text", e.Text)
	if e.Expect != nil {
		said = append(said, fmt.Sprintf("over=%d", *e.Expect))
	}
	for _, f := range []struct {
		name  string
		value uint64
	}{{"seq", e.Seq}, {"cursor", e.Cursor}, {"fence", e.Fence}, {"place", e.Place}, {"floor", e.Floor}, {"passed", e.Passed}} {
		add(f.name, f.value)
	}
	add("count", e.Count)
	add("by", e.By)
	add("previous", e.Previous)
	add("released", e.Released)
	add("blind", e.Blind)
	add("free", e.Free)
	add("duplicate", e.Duplicate)
	add("for", e.Took)
	add("effect", e.Effect)
	add("error", e.Error)
	return strings.Join(said, " ")
}
