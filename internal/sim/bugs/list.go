package main

// bug is a mistake in one place of a shipped file.
type bug struct {
	rule string // that it breaks, of docs/rules.md, or the file it is of
	why  string
	file string
	old  string // occurs once in the file
	new  string
	// elsewhere is the test that sees it if the simulation does not: a package and
	// the name of a test. Empty if it is the simulation's to find.
	elsewhere string
	// unseen says why the simulation does not.
	unseen string
}

// missing are the rules of which nothing is built yet, or nothing that runs in the
// simulation.
var missing = []struct{ rule, why string }{
	{"N9", "pause"},
	{"N11", "the hint of a release"},
	{"C9", "commands to other chats: the record is there, the simulation posts none"},
	{"D6", "token buckets; the retention of the stream is D6's test below"},
	{"D8", "the append that is a claim"},
	{"C8", "effects over 256 KiB in an object store"},
}

const (
	chatGo   = "dispatcher/chat.go"
	commitGo = "dispatcher/commit.go"
	holdGo   = "dispatcher/hold.go"
	laneGo   = "dispatcher/lane.go"
	recordGo = "dispatcher/record.go"
)

// lane are the bugs of who may run what, and when.
var lane = []bug{
	{rule: "N1", why: "a nudge that found no room is forgotten, not looked for", file: laneGo,
		old: "l.given = max(l.given, n.Seq)", new: "_ = l.given",
		elsewhere: "./dispatcher TestABurstOverTheLanesBoundIsDrainedInOneGo", unseen: "no chat here has 64 records"},
	{rule: "N2", why: "a nudge that comes again takes a ticket unseen", file: laneGo,
		old: "l.applied(n, n.Delivered > 1)", new: "l.applied(n, false)",
		unseen: "it costs a turn and breaks nothing"},
	{rule: "N3", why: "what a lagging replica does not show is taken for deleted", file: holdGo,
		old: "there, err = h.d.cfg.Journal.Prove(h.ctx, h.chat, target)", new: "there = false"},
	{rule: "N3", why: "absence is believed from a server that may be behind", file: "journal/read.go",
		old: "case asked:", new: "case asked, seq > 0:",
		elsewhere: "./journal TestAbsenceIsBelievedOnlyWhenProven", unseen: "the leader never lags here"},
	{rule: "N4", why: "the order is that of the nudges", file: holdGo,
		old: "h.d.cfg.Journal.Read(h.ctx, h.chat, h.cp.Cursor, readLimit)", new: "h.d.cfg.Journal.Read(h.ctx, h.chat, target-1, readLimit)"},
	{rule: "N4", why: "a record without effect is acknowledged when its cursor is written", file: holdGo,
		old: "h.acknowledge(func(seq uint64) bool { return seq < h.committed })", new: "h.acknowledge(func(seq uint64) bool { return seq <= h.committed })"},
	{rule: "N4", why: "a ticket that was dropped is acknowledged unseen", file: laneGo,
		old: "_, err := l.applied(n, true)\n\t\treturn err", new: "l.acknowledge(func(seq uint64) bool { return seq <= passed.Passed })\n\t\treturn nil"},
	{rule: "N4", why: "a cursor that passed records without effect is never written", file: holdGo,
		old: "if len(entries) == 0 {\n\t\t\treturn h.writeCursor()", new: "if len(entries) == 0 {\n\t\t\treturn nil"},
	{rule: "N5", why: "the pause between tries is not kept", file: recordGo,
		old: "h.backOff(tries.NotBefore)", new: "h.backOff(time.Time{})"},
	{rule: "N5", why: "the pause between tries is in no checkpoint", file: commitGo,
		old: "tries.NotBefore, tries.Error = time.Now().Add(wait), shorten(cause.Error())", new: "tries.Error = shorten(cause.Error())"},
	{rule: "N5", why: "tries have no bound", file: recordGo,
		old: "case tries.N+1 >= h.d.cfg.Tries:", new: "case false:"},
	{rule: "N6", why: "no claim at an unclean grant: nobody counts the dead", file: "dispatcher/suspect.go",
		old: "if h.claimed {", new: "if h.claimed = true; h.claimed {"},
	{rule: "N6", why: "a suspect runs in company", file: "dispatcher/suspect.go",
		old: "weight = int64(h.d.cfg.Concurrency)", new: "weight = 1"},
	{rule: "N6", why: "a suspect is blamed for any death", file: "dispatcher/suspect.go",
		old: "if claim == nil || !claim.Alone || prev.Released", new: "if claim == nil || prev.Released"},
	{rule: "N6", why: "the count of deliveries is a verdict", file: recordGo,
		old: "if tries.Deaths >= convicted {", new: "if tries.Deaths >= convicted || h.first.Delivered > 5 {"},
	{rule: "N7", why: "every timer that fires counts", file: recordGo,
		old: "e.Record.Type == botmesh.TypeTimer && !armed {", new: "e.Record.Type == botmesh.TypeTimer && !armed && h.cp.Fence == 0 {"},
	{rule: "N7", why: "timers are in the checkpoint alone", file: chatGo,
		old: "if err := l.flushTimers(ctx, c.cp); err != nil {", new: "if err := ctx.Err(); err != nil {"},
	{rule: "N7", why: "timers are not armed again in a journal that was made anew", file: "dispatcher/timers.go",
		old: "if anew || time.Since(t.At) > overdue {", new: "if time.Since(t.At) > 1000*overdue {"},
	{rule: "N8", why: "a checkpoint of a newer deploy is run all the same", file: chatGo,
		old: "case l.d.cfg.Deploy != 0 && cp.Deploy > l.d.cfg.Deploy:", new: "case false:",
		elsewhere: "./dispatcher TestAnOlderDeployRunsNothing", unseen: "all replicas here are of one build"},
	{rule: "N10", why: "the fence falls when Redis forgot it", file: holdGo,
		old: "if c.cp.Fence > h.fence {", new: "if false {"},
	{rule: "N10", why: "elapsed time is the monotonic clock's alone", file: "outbox/clock.go",
		old: "return max(now.mono-m.mono, now.wall.Sub(m.wall))", new: "return now.mono - m.mono",
		elsewhere: "./outbox TestSuspendedMachineDoesNotCall", unseen: "there is one clock in a bubble"},
}

// commit are the bugs of what is written, flushed and acknowledged.
var commit = []bug{
	{rule: "C1", why: "a checkpoint is written without a condition", file: "checkpoint/natsstore/swap.go",
		old: "p.Expect = &w.expect", new: "_ = w.expect"},
	{rule: "C1", why: "a revision alone is taken for the row, whoever wrote it", file: "checkpoint/natsstore/swap.go",
		old: "case last == w.expect && row.Nonce == w.old.Nonce:", new: "case last == w.expect:",
		elsewhere: "./checkpoint/natsstore TestARevisionThatRepeatsIsAnotherRow", unseen: "no store here goes back, so that no revision comes twice"},
	{rule: "C1", why: "a cursor of another epoch counts (H6)", file: chatGo,
		old: "if cp.Epoch != epoch {", new: "if false {"},
	{rule: "C1", why: "a replica of the old journal takes the new one's checkpoint for old", file: chatGo,
		old: "if err := l.d.cfg.Journal.Current(ctx); err != nil {", new: "if err := ctx.Err(); err != nil {",
		unseen: "nobody has a journal open here while it is made anew"},
	{rule: "C1", why: "a place in another outbox counts", file: chatGo,
		old: "if epoch := l.d.cfg.Outbox.Epoch(); cp.OutEpoch != epoch {", new: "if epoch := l.d.cfg.Outbox.Epoch(); epoch == \"\" {"},
	{rule: "C2", why: "a write in mid-turn moves the cursor (H4)", file: "dispatcher/midway.go",
		old: "next.During, next.Effects = &during, nil", new: "next.During, next.Effects, next.Cursor = &during, nil, r.Seq"},
	{rule: "C2", why: "the letter goes out before the commit", file: commitGo,
		old: "if err := h.failIfTooLarge(h.commit(ctx, next, maxCheckpoint)); err != nil {",
		new: "if next.Effects != nil {\n\t\t_, _ = h.d.cfg.Outbox.Append(ctx, *next.Effects.Letter, h.out)\n\t}\n\tif err := h.failIfTooLarge(h.commit(ctx, next, maxCheckpoint)); err != nil {"},
	{rule: "C2", why: "what a run kept is lost with a failed try", file: commitGo,
		old: "next.Tries, next.Effects = &tries, nil\n\tif next.Claim", new: "next.Tries, next.Effects, next.During = &tries, nil, nil\n\tif next.Claim"},
	{rule: "C3", why: "a letter is appended behind a tail that was just read (H3)", file: chatGo,
		old: "\tlook := !c.own || l.aged(c.cp.Effects.At)\n\twait := patience()\n\tfor {\n\t\tif !look {\n",
		new: "\tlook := false\n\twait := patience()\n\tfor {\n\t\tif !look {\n\t\t\tif tail, err := l.d.cfg.Outbox.Last(ctx, l.chat); err == nil {\n\t\t\t\texpect = tail.Seq\n\t\t\t}\n"},
	{rule: "C3", why: "the checkpoint is read first, then the outbox", file: chatGo,
		old: "\t\tlook = false\n\t\ttail, err := l.d.cfg.Outbox.Last(ctx, l.chat)\n",
		new: "\t\tlook = false\n\t\tif row, err := l.d.cfg.Store.Load(ctx, l.key); err == nil && (row.Revision != c.row.Revision || row.Nonce != c.row.Nonce) {\n\t\t\treturn 0, botmesh.ErrConflict\n\t\t}\n\t\tsame := c.row\n\t\ttail, err := l.d.cfg.Outbox.Last(ctx, l.chat)\n\t\tif err == nil && tail.ID != letter.ID && tail.Seq != 0 {\n\t\t\tif expect = tail.Seq; same.Revision > 0 {\n\t\t\t\tcontinue\n\t\t\t}\n\t\t}\n"},
	{rule: "C3", why: "a checkpoint that has changed does not stop a flush", file: chatGo,
		old: "case row.Revision != c.row.Revision || row.Nonce != c.row.Nonce:", new: "case row.Revision == 0 && c.row.Revision == 0:"},
	{rule: "C3", why: "no age guard: an old letter is appended again (H10)", file: chatGo,
		old: "return time.Since(at) > max(keep/2, keep-24*time.Hour)", new: "return time.Since(at) > 1000*keep"},
	{rule: "C3", why: "a dead letter is published without a condition (H14)", file: "journal/dead.go",
		old: "jet.Publish{Msg: m, Expect: &first}", new: "jet.Publish{Msg: m, Expect: map[bool]*uint64{true: &first}[false]}"},
	{rule: "C3", why: "each run names its letter anew", file: commitGo,
		old: "botmesh.LetterID(h.chat, r.Epoch, r.Seq), o.Sends)", new: "botmesh.LetterID(h.chat, r.Epoch, r.Seq+h.fence<<20), o.Sends)"},
	{rule: "C4", why: "one flush in four is left for later (H2)", file: chatGo,
		old: "if c.flushed {", new: "if c.flushed || c.own && c.cp.Cursor%4 == 0 {"},
	{rule: "C4", why: "an append without an answer counts as done", file: chatGo,
		old: "if err == nil {\n\t\t\t\treturn seq, nil", new: "if err == nil || errors.Is(err, botmesh.ErrUnknown) {\n\t\t\t\treturn max(seq, out+1), nil"},
	{rule: "C5", why: "acknowledged when it comes", file: laneGo,
		old: "l.nudges[p] = n //", new: "l.nudges[p], _ = n, n.Ack() //"},
	{rule: "C5", why: "equal to the cursor is acknowledged as below it (H1)", file: chatGo,
		old: "case n.Seq < c.cp.Cursor:\n\t\tl.acknowledge(func(seq uint64) bool { return seq < c.cp.Cursor })",
		new: "case n.Seq <= c.cp.Cursor:\n\t\tl.acknowledge(func(seq uint64) bool { return seq <= c.cp.Cursor })"},
	{rule: "C5", why: "the effects are not looked at", file: chatGo,
		old: "switch err := l.flush(ctx, &c, nil); {", new: "switch err := error(nil); {"},
	{rule: "C5", why: "the letters are not looked at", file: chatGo,
		old: "case standing.Settled >= tail.Seq:", new: "case tail.Seq >= 0:"},
	{rule: "C5", why: "only this commit's letter is looked at", file: chatGo,
		old: "return l.delivered(ctx, n)", new: "if c.cp.Effects == nil {\n\t\tl.acknowledge(func(seq uint64) bool { return seq <= n.Seq })\n\t\treturn true, nil\n\t}\n\treturn l.delivered(ctx, n)"},
	{rule: "C5", why: "a letter that is put off is as good as delivered", file: holdGo,
		old: "h.giveBack(max(0, time.Until(standing.NotBefore)), func(seq uint64) bool { return seq <= h.committed })", new: "h.acknowledge(func(seq uint64) bool { return seq <= h.committed })"},
	{rule: "C5", why: "above the cursor is acknowledged, too", file: holdGo,
		old: "h.acknowledge(func(seq uint64) bool { return seq < h.committed })", new: "h.acknowledge(all)"},
	{rule: "C5", why: "no sweep when the journal is made anew", file: "dispatcher/dispatcher.go",
		old: "\tbackground.Go(d.sweep)\n", new: ""},
	{rule: "C6", why: "a loser takes its conflict for a success", file: commitGo,
		old: "telemetry.Conflicts.Add(ctx, 1, reason(\"superseded\"))\n\t\treturn err", new: "telemetry.Conflicts.Add(ctx, 1, reason(\"superseded\"))"},
	{rule: "C6", why: "a loser goes on from its own copy", file: holdGo,
		old: "if err = h.reload(); err == nil {", new: "if pause(h.ctx, time.Second) {"},
	{rule: "C6", why: "the outbox says who is superseded", file: chatGo,
		old: "if tail.ID == letter.ID {\n\t\t\treturn tail.Seq, nil\n\t\t}", new: "if tail.ID == letter.ID {\n\t\t\treturn tail.Seq, nil\n\t\t}\n\t\tif tail.Seq > out {\n\t\t\treturn 0, botmesh.ErrConflict\n\t\t}",
		unseen: "the tail is past the checkpoint's place only where a store goes back, and none does here"},
	{rule: "C6", why: "a loser that still has the turn drops all (H19)", file: holdGo,
		old: "if errors.Is(err, botmesh.ErrConflict) && h.ctx.Err() == nil {", new: "if false {",
		unseen: "it costs a redelivery and breaks nothing"},
	{rule: "C7", why: "a run that comes again sends its eager sends again (H9)", file: "dispatcher/midway.go",
		old: "if *eager <= during.Eager {", new: "if false {"},
	{rule: "C7", why: "eager sends and reply share their ids (H9)", file: "dispatcher/midway.go",
		old: "botmesh.EagerLetterID(h.chat, r.Epoch, r.Seq, during.Eager), []botmesh.Send{*q.send})", new: "botmesh.LetterID(h.chat, r.Epoch, r.Seq), []botmesh.Send{*q.send})"},
	{rule: "C7", why: "an eager send goes out past the checkpoint (H9)", file: "dispatcher/midway.go",
		old: "\tduring.Eager++\n", new: "\tif _, err := h.d.cfg.Outbox.Append(ctx, *letter.Letter, h.out); err == nil {\n\t\treturn nil\n\t}\n\tduring.Eager++\n"},
	{rule: "C8", why: "a write without an answer counts as done", file: "checkpoint/natsstore/swap.go",
		old: "case errors.Is(err, botmesh.ErrUnknown):\n\t\t\tw.open = true", new: "case errors.Is(err, botmesh.ErrUnknown):\n\t\t\treturn checkpoint.Row{Value: w.value, Revision: w.expect + 1, Nonce: w.nonce}, nil"},
	{rule: "C8", why: "a write without an answer is made again over whatever is there", file: "checkpoint/natsstore/swap.go",
		old: "case last < w.expect && w.stillBehind():", new: "case w.open:\n\t\tw.expect, w.read = last, false\n\t\treturn checkpoint.Row{}, errors.New(\"again\")\n\tcase last < w.expect && w.stillBehind():"},
	{rule: "C8", why: "a conflict is believed without a look", file: "checkpoint/natsstore/swap.go",
		old: "case errors.Is(err, botmesh.ErrConflict):\n\t\tcase !w.open:", new: "case errors.Is(err, botmesh.ErrConflict), !w.open:",
		elsewhere: "./checkpoint/natsstore TestALoneWriterIsNeverSuperseded", unseen: "the dispatcher reloads after any conflict, and finds its own write"},
	{rule: "C8", why: "a commit that is too large is tried for ever (H13)", file: "dispatcher/midway.go",
		old: "if errors.Is(err, botmesh.ErrTooLarge) {", new: "if err == nil && errors.Is(err, botmesh.ErrTooLarge) {",
		elsewhere: "./dispatcher TestAStateThatLeavesNoRoomIsAFailedTry", unseen: "nothing here is large"},
	{rule: "C10", why: "a tombstone goes while its records can come again", file: commitGo,
		old: "ttl = 2 * h.d.cfg.Retention", new: "ttl = h.d.cfg.Retention / 2"},
	{rule: "C10", why: "a conversation expires", file: commitGo,
		old: "if len(next.State)+len(next.Timers) == 0 {", new: "if len(next.Timers) == 0 {"},
	{rule: "C10", why: "the ids of what took effect are not kept", file: commitGo,
		old: "next.Recent = h.cp.Recent.With(r.ID)", new: "next.Recent = h.cp.Recent"},
	{rule: "SPEC J1", why: "a record counts as stored when nobody said no", file: "journal/publish.go",
		old: "unknown = unknown || errors.Is(last, botmesh.ErrUnknown)\n",
		new: "unknown = unknown || errors.Is(last, botmesh.ErrUnknown)\n\t\tif errors.Is(last, botmesh.ErrUnknown) {\n\t\t\treturn nil\n\t\t}\n"},
	{rule: "C8", why: "a conflict of the cluster is taken for an unknown", file: "internal/jet/errors.go",
		old: "jetstream.ErrorCode = 10164", new: "jetstream.ErrorCode = 10165", elsewhere: "./internal/jet TestWriteErrors", unseen: "no server's codes here"},
}

// delivery are the bugs of who calls the platform, and when.
var delivery = []bug{
	{rule: "D1", why: "a claim does not say how far all is settled", file: "outbox/chain.go",
		old: "e := entry{Kind: kindClaim, position: c.last.position, Calls: c.mayBeCalled()}", new: "e := entry{Kind: kindClaim, Calls: c.mayBeCalled()}"},
	{rule: "D1", why: "a claim forgets tries and pause", file: "outbox/chain.go",
		old: "e.Doubt = max(e.Doubt, calls)", new: "e.Doubt, e.Tries, e.NotBefore = max(e.Doubt, calls), 0, time.Time{}"},
	{rule: "D1", why: "entries are appended without a condition", file: "outbox/chain.go",
		old: "jet.Publish{Msg: jet.Msg{Subject: c.receipts, Data: d.data}, Expect: &d.expect}", new: "jet.Publish{Msg: jet.Msg{Subject: c.receipts, Data: d.data}}"},
	{rule: "D1", why: "the position is of an earlier read than the one it names", file: "outbox/chain.go",
		old: "\t\tack, err := c.o.stream.Publish(", new: "\t\tif l, err := c.o.lastLink(ctx, c.receipts); err == nil {\n\t\t\td.expect = l.seq\n\t\t}\n\t\tack, err := c.o.stream.Publish("},
	{rule: "D1", why: "a claim without an answer counts as won", file: "outbox/chain.go",
		old: "\t\tif err == nil {\n\t\t\tc.paid(ctx, ack.Seq)", new: "\t\tif err == nil || d.Kind == kindClaim && errors.Is(err, botmesh.ErrUnknown) {\n\t\t\tc.paid(ctx, max(ack.Seq, d.expect+1))"},
	{rule: "D2", why: "calls go on until the free entry is confirmed", file: "outbox/chain.go",
		old: "c.mine = c.mine && !d.Free //", new: "_ = d.Free //",
		elsewhere: "./outbox TestFreeEntryEndsItsWritersCalls", unseen: "a tenure that goes on has paid its free entry first"},
	{rule: "D2", why: "a free entry does not bind its writer", file: "outbox/chain.go",
		old: "return c.mine && !c.last.Free &&", new: "return c.mine &&"},
	{rule: "D2", why: "an owner calls without looking at the time", file: "outbox/chain.go",
		old: "c.began.atMost(c.o.now()) < c.o.cfg.Hold-2*c.o.callTimeout()", new: "c.began.mono >= 0"},
	{rule: "D2", why: "each repetition of an entry gives new time", file: "outbox/chain.go",
		old: "\t\tack, err := c.o.stream.Publish(", new: "\t\td.began = c.o.now()\n\t\tack, err := c.o.stream.Publish("},
	{rule: "D2", why: "an entry that is read and names this process is its own", file: "outbox/chain.go",
		old: "c.known, c.last, c.seen, c.mine = true, l, c.o.now(), false", new: "c.known, c.last, c.seen, c.mine, c.began = true, l, c.o.now(), l.By == c.o.cfg.Incarnation, c.o.now()"},
	{rule: "D2", why: "a refused receipt does not end the ownership", file: "outbox/chain.go",
		old: "\tif err == nil {\n\t\tc.learn(l)\n\t}\n\treturn true, errTaken", new: "\tif err == nil {\n\t\tc.learn(l)\n\t\tc.mine, c.began, c.last.Free = true, c.o.now(), false\n\t}\n\treturn true, errTaken"},
	{rule: "D3", why: "nobody waits for an owner that may be alive", file: "outbox/tenure.go",
		old: "d.c.seen.atLeast(d.o.now()) >= d.o.cfg.Hold:", new: "d.c.seen.atLeast(d.o.now()) >= 0:"},
	{rule: "D3", why: "the calls of a dead owner are in no doubt", file: "outbox/tenure.go",
		old: "case last.Calls < ahead || !p.last():\n\t\treturn last.Calls, nil", new: "case last.Calls < ahead || !p.last():\n\t\treturn 0, nil"},
	{rule: "D4", why: "the free mark changes when an entry is sent again", file: "outbox/chain.go",
		old: "\t\tack, err := c.o.stream.Publish(", new: "\t\tif d.sent {\n\t\t\tagain := d.entry\n\t\t\tagain.Free = d.Free && c.o.now() == d.began\n\t\t\td.entry = again\n\t\t\td.data, _ = json.Marshal(again)\n\t\t}\n\t\tack, err := c.o.stream.Publish("},
	{rule: "D4", why: "the next part is called before it is known what came of one", file: "outbox/deliver.go",
		old: "if e.Free || e.Receipt == nil || e.Receipt.Result != botmesh.ResultDelivered || e.Calls < ahead || !d.c.mayCall() {", new: "if !d.c.mayCall() {"},
	{rule: "D4", why: "a part that was refused is not written down first", file: "outbox/deliver.go",
		old: "e.Receipt == nil || e.Receipt.Result != botmesh.ResultDelivered", new: "e.Receipt == nil"},
	{rule: "D4", why: "a receipt that could not be written is forgotten", file: "outbox/deliver.go",
		old: "d.c.owe(e) // the tenure is cut off", new: "_ = e // the tenure is cut off"},
	{rule: "D5", why: "who is put off claims and calls at once", file: "outbox/tenure.go",
		old: "return !s.NotBefore.IsZero(), nil", new: "return false, nil"},
	{rule: "D5", why: "a chain is not freed with the turn", file: "outbox/tenure.go",
		old: "if err == nil && d.c.mine && !d.c.last.Free {", new: "if false {",
		elsewhere: "./outbox TestCloseAppendsABareFreeEntry", unseen: "it costs a lease of waiting and breaks nothing"},
	{rule: "D6", why: "any replica answers what decides whether a message goes out twice", file: "outbox/streams.go",
		old: "AllowDirect: false,", new: "AllowDirect: true,",
		elsewhere: "./outbox TestStreamsIsWhatTheProtocolNeeds", unseen: "the streams here are made by the simulation"},
	{rule: "D7", why: "a part that is refused leaves no dead letter", file: "outbox/deliver.go",
		old: "if d.o.cfg.Dead != nil {", new: "if false {"},
	{rule: "D7", why: "a call without an answer is no doubt", file: "outbox/deliver.go",
		old: "case provider.InDoubt(err) && !d.o.recognises(d.c.chat.Provider):", new: "case false:"},
}

// bugs are all of them.
func bugs() (of []bug) {
	of = append(of, lane...)
	of = append(of, commit...)
	return append(of, delivery...)
}
