package botmesh

// Signs is what a [Midway] may be too: it shows the user what no commit holds, while the
// run lasts. It is best effort: no call waits or fails, nothing is written, a sign is left
// out where the platform has none or is busy with what was sent, and after the end of
// the run none is given.
type Signs interface {
	// Typing shows that the bot is at work, until the run ends.
	Typing()
	// Show shows the text of s in the message that it replaces, see [Send.Replaces]. Of
	// several for one message the last is shown, when the platform allows it. What the
	// message says in the end is for the commit.
	Show(s Send)
}
