package bot

import (
	"strings"

	"github.com/botmesh-go/botmesh"
)

// Language adds the texts of a language, named by its BCP 47 tag: each text as the code
// has it, and what is said for it.
//
//	b.Language("de", map[string]string{
//		"What would you like?":                     "Was möchten Sie?",
//		"ordered: %d x %s":                         "bestellt: %d x %s",
//		"Please send a whole number from %d to %d.": "Bitte eine ganze Zahl von %d bis %d.",
//		"Yes": "Ja", "No": "Nein",
//	})
//
// So are found: prompts, hints, helps, labels of buttons, the formats of Sayf and T, what
// the questions of package ask and the bot itself say ([Texts]). What is not found is said
// as the code has it. A text may be a key as well ("order.item"), with a table for each
// language. "de-AT" finds "de" where it has no table, or no text, of its own, and what
// is in no table of the user's language is looked up in "en".
//
// The language of a chat is that of its last message that named one (Message.Locale), or
// what [Bot.Locale] says. A bot with languages remembers it for each chat.
func (b *Bot) Language(tag string, texts map[string]string) *Bot {
	tag = strings.ToLower(tag)
	if tag == "" || b.languages[tag] != nil {
		b.fault("language %q has no tag or is registered twice", tag)
	}
	b.languages[tag] = texts
	return b
}

// Locale decides the language of each turn, as a BCP 47 tag: by what a user chose, say.
// Where it returns nothing the platform's word counts.
func (b *Bot) Locale(of func(c *Context) string) *Bot {
	b.locale = of
	return b
}

// speak gives the turn the language of its chat, and remembers it for turns in which
// nobody says which it is.
func (t *turn) speak() error {
	if len(t.bot.languages) == 0 {
		return nil
	}
	r := t.Record()
	if said := r.Message.Locale; said != "" && (r.Type == botmesh.TypeMessage || r.Type == botmesh.TypeCallback) {
		t.chat.Locale = said
	}
	locale := t.chat.Locale
	if t.bot.locale != nil {
		err := t.handle(func(c *Context) error {
			if chosen := t.bot.locale(c); chosen != "" {
				locale = chosen
			}
			return nil
		}, "")
		if err != nil {
			return err
		}
	}
	t.Speak(func(text string) string { return t.bot.word(locale, text) })
	return nil
}

// word is a text in a language, or in the wider one that it is part of.
func (b *Bot) word(tag, text string) string {
	for tag = strings.ToLower(tag); tag != ""; {
		if said, ok := b.languages[tag][text]; ok {
			return said
		}
		tag = tag[:max(0, strings.LastIndexByte(tag, '-'))]
	}
	if said, ok := b.languages["en"][text]; ok {
		return said
	}
	return text
}
