package worker

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/replay"
)

// compareChats is how many chats are compared where none is named.
const compareChats = 100

// errDiffers says that a chat has another answer now, which was shown. Exit code 1 is for
// it alone: whatever else a comparison ends with is 2.
var errDiffers = errors.New("a chat has another answer now")

// comparison is what is to be compared, and how it is shown.
type comparison struct {
	against bool
	limit   int
	output  *string
}

func (c *comparison) flags(flags *flag.FlagSet) {
	flags.BoolVar(&c.against, "against", false, "")
	flags.IntVar(&c.limit, "limit", compareChats, "")
	c.output = shownAs(flags)
}

// shownAs is the flag that says how what was found is shown.
func shownAs(flags *flag.FlagSet) *string {
	output := "text"
	flags.Func("o", "", func(text string) error {
		if output = text; text != "text" && text != "json" {
			return errors.New("want text or json")
		}
		return nil
	})
	return &output
}

// compare shows the chats that have another answer now, and those of which nobody can tell, or
// not of all their records: with the first that it is and why.
func (r replays) compare(ctx context.Context, open opener, c comparison, named []botmesh.ChatKey) error {
	if c.limit < 1 {
		return config.Wrong(errors.New("--limit must be 1 or more"))
	}
	w, err := open(r.program.Check)
	if err != nil {
		return err
	}
	all, of := []replay.Compared{}, map[replay.Verdict]int{}
	skipped := 0
	err = w.Against(ctx, named, c.limit, func(found replay.Compared) error {
		of[found.Verdict]++
		skipped += found.Skipped
		if *c.output == "json" {
			all = append(all, found)
			return nil
		}
		if !telling(found) {
			return nil
		}
		_, err := io.WriteString(r.stdout, found.String()) // at once: a chat may take its time
		return err
	})
	if err != nil {
		return err
	}
	if *c.output == "json" {
		err = r.json(all)
	} else {
		_, err = fmt.Fprintf(r.stdout, "%d chats: %d the same, %d differ, %d can not be compared; %d records could not be; nothing was sent or written\n",
			of[replay.Same]+of[replay.Differs]+of[replay.Incomparable], of[replay.Same], of[replay.Differs], of[replay.Incomparable], skipped)
	}
	if err == nil && of[replay.Differs] > 0 {
		err = errDiffers
	}
	return err
}

// telling reports whether a chat is worth a line: not one of which all is the same.
func telling(c replay.Compared) bool { return c.Verdict != replay.Same || c.Skipped > 0 }

func (r replays) json(v any) error {
	e := json.NewEncoder(r.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
