package journal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// The families of subjects. Behind the family come bot, provider and the chat's
// token; behind a dead letter's token comes what it was.
const (
	familyIn     = "bot.in"
	familyTimer  = "bot.timer"
	familyStatus = "bot.status"
	familyDead   = "bot.dead"
)

// InboxStream is the name of the stream that holds a bot's journal.
func InboxStream(bot string) string { return "BOT_" + bot + "_INBOX" }

// DeadStream is the name of the stream that holds a bot's dead letters.
func DeadStream(bot string) string { return "BOT_" + bot + "_DEAD" }

// nowhere is the chat under which a record is set aside whose chat can not be told.
var nowhere = botmesh.ChatKey{Provider: "-", Chat: "-"}

func subjectOf(family, bot string, chat botmesh.ChatKey) string {
	return family + "." + bot + "." + chat.Provider + "." + chat.Token()
}

func allOf(family, bot string) string { return family + "." + bot + ".>" }

// deadSubject ends in what was set aside, so that setting it aside again meets
// the first one.
func deadSubject(bot string, chat botmesh.ChatKey, what string) string {
	return subjectOf(familyDead, bot, chat) + "." + what
}

// parseSubject takes a subject of a family apart; rest is empty unless more
// follows the token.
func parseSubject(family, bot, subject string) (provider, token, rest string, err error) {
	s, ok := strings.CutPrefix(subject, family+"."+bot+".")
	if !ok {
		return "", "", "", fmt.Errorf("subject %q is not below %s.%s", subject, family, bot)
	}
	provider, s, _ = strings.Cut(s, ".")
	token, rest, _ = strings.Cut(s, ".")
	if !botmesh.ValidName(provider) || token == "" {
		return "", "", "", fmt.Errorf("subject %q names no chat", subject)
	}
	return provider, token, rest, nil
}

// chatOf turns a subject's provider and token into the chat. A hashed token
// needs the key written beside it, and only a key that hashes to it counts.
func chatOf(provider, token, written string) (botmesh.ChatKey, error) {
	chat, err := botmesh.ParseToken(provider, token)
	if err == nil {
		return chat, nil
	}
	if !errors.Is(err, botmesh.ErrHashedToken) {
		return botmesh.ChatKey{}, err
	}
	if chat, err = botmesh.ParseChatKey(written); err != nil {
		return botmesh.ChatKey{}, fmt.Errorf("hashed token with header %s: %w", headerChat, err)
	}
	if chat.Provider != provider || chat.Token() != token {
		return botmesh.ChatKey{}, fmt.Errorf("header %s %q is not the chat of token %q", headerChat, written, token)
	}
	return chat, nil
}
