package check

import "strings"

// family is what begins the subjects of one sort.
type family string

const (
	records     family = "bot.in."
	schedules   family = "bot.timer."
	letters     family = "bot.out."
	entries     family = "bot.rcpt."
	graves      family = "bot.dead."
	checkpoints family = "$KV.BOT_"
)

// begins is how the subjects of a bot begin.
func (f family) begins(bot string) string {
	if f == checkpoints {
		return string(f) + bot + "_CP."
	}
	return string(f) + bot + "."
}

// Timers is how the subjects begin under which a bot's timers stand until they fire.
func Timers(bot string) string { return schedules.begins(bot) }

// ChatOf is the key of the chat that a subject of a bot belongs to, empty if it is of
// none.
func ChatOf(bot, subject string) string {
	_, key := familyOf(bot, subject)
	return key
}

// familyOf takes a subject apart: provider and token of the chat stand behind the bot,
// and of a timer or a dead letter behind that which one it is.
func familyOf(bot, subject string) (family, string) {
	for _, f := range []family{records, schedules, letters, entries, graves, checkpoints} {
		rest, ok := strings.CutPrefix(subject, f.begins(bot))
		if !ok {
			continue
		}
		if f == schedules || f == graves {
			rest = rest[:max(strings.LastIndexByte(rest, '.'), 0)]
		}
		if !strings.Contains(rest, ".") {
			return f, "" // of no chat
		}
		return f, rest
	}
	return "", ""
}
