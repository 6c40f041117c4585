package flow

// Human puts the chat through to people and leaves the question open: what the user says
// next is for the handler of bot.Bot.Human, until they write /bot. Then the question is
// asked again, and its clock begins anew; a step that had asked none begins anew. Changes
// of the state are dropped. The run of a bot without that handler fails.
func (c *C[S]) Human() Next { return Next{kind: nextHuman} }

// CallsHuman reports whether a flow has put the chat through to people in this turn. It is
// for those who run bots.
func (t *Turn) CallsHuman() bool { return t.calls }
