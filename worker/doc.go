// Package worker runs bots: it makes of a [bot.Bot] what the dispatcher calls for
// each record.
//
// The bot decides; the worker sees to it that a decision is worth committing. A
// handler that panics has failed a try and harms no other chat. What a handler
// returns after its run was stopped is not looked at, and what it does after that
// can not send.
//
// What belongs here: running a bot, and the whole worker program around it. What a
// bot does belongs to package bot; when a record is run, and how its outcome is
// committed, to the dispatcher.
package worker
