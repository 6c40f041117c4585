package bot

import (
	"cmp"
	"strings"
)

// Texts are what a bot says by itself. In braces stands what the bot fills in.
type Texts struct {
	// Unknown answers a command that is not registered. Default: "unknown command: {command}".
	Unknown string
	// Usage answers a command whose arguments will not do. Default: "usage: {usage}".
	Usage string
	// Cancelled answers /cancel when a flow ended without a word of its own.
	// Default: "cancelled".
	Cancelled string
	// NothingToCancel answers /cancel when no flow waits. Default: "nothing to cancel".
	NothingToCancel string
	// Busy answers the trigger of a flow while another waits. Default: "please
	// finish {flow} first, or /cancel".
	Busy string
	// Expired answers a button whose question is no longer open. Default: "that
	// button is no longer in use".
	Expired string
	// NothingBefore answers /back when there is no question to go back to. Default:
	// "there is no question before this one".
	NothingBefore string
	// Help answers /help when the open question has no help of its own and the
	// command is not registered. Default: "{commands}", one a line.
	Help string
	// Interrupted answers a message for a flow that was lost when its chat moved, see
	// [Handover]. Default: "we were interrupted, please begin again".
	Interrupted string
	// Human is said when people take over, see [Bot.Human]. Default: "a person will answer
	// you here, /bot brings me back".
	Human string
	// Back is said when they no longer do, before the question that is open. Default: "here
	// I am again".
	Back string
}

func (t Texts) withDefaults() Texts {
	return Texts{
		Unknown:         cmp.Or(t.Unknown, "unknown command: {command}"),
		Usage:           cmp.Or(t.Usage, "usage: {usage}"),
		Cancelled:       cmp.Or(t.Cancelled, "cancelled"),
		NothingToCancel: cmp.Or(t.NothingToCancel, "nothing to cancel"),
		Busy:            cmp.Or(t.Busy, "please finish {flow} first, or /cancel"),
		Expired:         cmp.Or(t.Expired, "that button is no longer in use"),
		NothingBefore:   cmp.Or(t.NothingBefore, "there is no question before this one"),
		Help:            cmp.Or(t.Help, "{commands}"),
		Interrupted:     cmp.Or(t.Interrupted, "we were interrupted, please begin again"),
		Human:           cmp.Or(t.Human, "a person will answer you here, /bot brings me back"),
		Back:            cmp.Or(t.Back, "here I am again"),
	}
}

// fill puts value where text has {name}.
func fill(text, name, value string) string {
	return strings.ReplaceAll(text, "{"+name+"}", value)
}
