package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// Undelivered is the record that tells a chat of a part which the platform took and then
// could not deliver: a Receiver returns it beside the record of the status that says so.
// part is the id that the platform was given with the call, of is its own id of the
// message, why its words. Blocked says that it takes nothing for the chat until its user
// does something there again, as [Blocked] does of a call.
//
// There is none if the part is no id of ours, or of another provider's chat, as that
// of a message that somebody else sent from the same account.
func Undelivered(status botmesh.Record, part, of, why string, blocked bool) (botmesh.Record, bool) {
	chat, ok := chatOf(part, status.Chat)
	if !ok {
		return botmesh.Record{}, false
	}
	sum := sha256.Sum256([]byte(part + "\x00" + of))
	return botmesh.Record{
		Type: botmesh.TypeEvent, ID: "undelivered:" + hex.EncodeToString(sum[:16]), Chat: chat, SentAt: status.SentAt, Raw: status.Raw,
		Failed: &botmesh.Failure{Part: part, Of: cmp.Or(of, part), Error: cmp.Or(why, "the platform gave no reason"), Blocked: blocked},
	}, true
}

// chatOf is the chat of a part: its id begins with the chat's key, then come the
// record's place and the part's. A group's part tells its participant, the status does not.
func chatOf(part string, told botmesh.ChatKey) (botmesh.ChatKey, bool) {
	key := part
	for range 2 {
		i := strings.LastIndexByte(key, '/')
		if i < 0 {
			return botmesh.ChatKey{}, false
		}
		key = key[:i]
	}
	chat, err := botmesh.ParseKey(key)
	if errors.Is(err, botmesh.ErrHashedToken) && key == told.Key() {
		return told, true
	}
	return chat, err == nil && chat.Provider == told.Provider && chat.Validate() == nil
}
