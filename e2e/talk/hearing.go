package talk

import (
	"strings"

	"github.com/botmesh-go/botmesh/bot"
)

// aloud is what a message begins with that the hook is to hear.
const aloud = "aloud "

// hearing adds a hook that changes what is said aloud, and notes at which replica it
// was called, and a command that takes its time over what it made of it.
func hearing(b *bot.Bot, replica string) {
	b.BeforeMessage(func(in *bot.Incoming) error {
		if words, ok := strings.CutPrefix(in.Message.Text, aloud); ok {
			in.Message.Text = words + ", heard by " + replica
		}
		return nil
	})
	b.Command("/hark <where to stand still>", func(c *bot.Context) error {
		where, heard, _ := strings.Cut(c.Args(), ", ")
		by, err := work(c.Turn, replica, where)
		c.Sayf("%s, begun by %s, ended by %s", heard, by, replica)
		return err
	})
}
