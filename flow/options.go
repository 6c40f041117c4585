package flow

import "time"

// Option sets something of a whole flow.
type Option interface{ apply(*options) }

type options struct {
	triggers []string
	back     int
	timeout  timeout
	burst    burst
	settle   settle

	ephemeral bool
	ttl       time.Duration

	meanwhile Policy

	patience time.Duration // of live conversations
	patient  bool
}

type optionFunc func(*options)

func (f optionFunc) apply(o *options) { f(o) }

// Trigger begins the flow when a user writes one of words. A command ("/order")
// begins it anew even while it waits; another word, in whatever case, only in a
// chat where no flow waits.
func Trigger(words ...string) Option {
	return optionFunc(func(o *options) { o.triggers = append(o.triggers, words...) })
}

// MaxBack bounds how far back a user can go, in questions.
const MaxBack = 16

// Back lets the user go back by up to n questions, with the state as it was at
// each: n copies of it are kept. What handlers have done elsewhere stays done.
func Back(n int) Option {
	return optionFunc(func(o *options) { o.back = n })
}

// StepOption sets something of one step.
type StepOption interface{ applyStep(*stepOptions) }

type stepOptions struct {
	to    []string
	was   []string
	asks  []string
	hint  string
	help  string
	tries int

	timeout timeout
	burst   burst
	settle  settle
}

type stepOptionFunc func(*stepOptions)

func (f stepOptionFunc) applyStep(o *stepOptions) { f(o) }

// To declares where the step's handler may go. That each is a step of the flow is
// checked when the bot starts, instead of when a user gets there.
func To[S any](steps ...Step[S]) StepOption {
	return stepOptionFunc(func(o *stepOptions) {
		for _, s := range steps {
			o.to = append(o.to, string(s))
		}
	})
}

// Was names what the step was called in earlier builds, so that a chat that waits
// there goes on here.
func Was(names ...string) StepOption {
	return stepOptionFunc(func(o *stepOptions) { o.was = append(o.was, names...) })
}

// Hint replaces what the user is told after an answer that is not understood.
func Hint(text string) StepOption {
	return stepOptionFunc(func(o *stepOptions) { o.hint = text })
}

// Help is what /help says while the step's question is open, in front of the
// question.
func Help(text string) StepOption {
	return stepOptionFunc(func(o *stepOptions) { o.help = text })
}

// Tries bounds the answers to a question that are not understood or rejected: the
// n-th of them in a row is for the flow's [Flow.OnGiveUp].
func Tries(n int) StepOption {
	return stepOptionFunc(func(o *stepOptions) { o.tries = n })
}

// Asks declares the names of a script step's questions. Any other is then an
// error, and the fingerprint of the flow tells when they change.
func Asks(names ...string) StepOption {
	return stepOptionFunc(func(o *stepOptions) { o.asks = append(o.asks, names...) })
}
