package slack

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/botmesh-go/botmesh"
)

// event makes the record of an event; false if the bot itself caused it.
func (r *Receiver) event(e *envelope) (botmesh.Record, bool) {
	ev := &e.Event
	team := cmp.Or(e.Team, e.Enterprise)
	who := user(id(ev.User), cmp.Or(ev.UserTeam, ev.Team), e.Team)
	rec := botmesh.Record{
		Type:   botmesh.TypeEvent,
		ID:     join(team, e.EventID),
		Chat:   key(id(ev.Channel), ev.Thread, ev.Stamp, who),
		User:   who,
		SentAt: moment(cmp.Or(ev.EventStamp, ev.Stamp)),
	}
	switch ev.Type {
	case "message":
		return r.message(e, team, rec)
	case "app_mention":
		if e.own(&ev.message) {
			return rec, false
		}
		return e.said(team, &ev.message, rec), true
	case "reaction_added", "reaction_removed":
		if e.own(&ev.message) {
			return rec, false
		}
		rec.Type = botmesh.TypeReaction
		rec.Chat = key(ev.ReactedItem.Channel, "", "", who)
		rec.Message.Of = ev.ReactedItem.Stamp
		if ev.Type == "reaction_added" { // without a name it was taken back
			rec.Message.Text = ev.Reaction
		}
	case "member_joined_channel":
		rec.Type, rec.Message.Status = botmesh.TypeMembership, "joined"
	case "member_left_channel":
		rec.Type, rec.Message.Status = botmesh.TypeMembership, "left"
	}
	return rec, true
}

// message makes the record of a message, or of what happened to one; false if the
// message is the bot's own.
func (r *Receiver) message(e *envelope, team string, rec botmesh.Record) (botmesh.Record, bool) {
	ev := &e.Event
	about := &ev.message
	switch {
	case ev.Subtype == "message_changed" && ev.NewMessage != nil:
		about = ev.NewMessage
	case ev.Subtype == "message_deleted" && ev.OldMessage != nil:
		about = ev.OldMessage
	}
	if e.own(about) {
		return rec, false
	}
	if about != &ev.message {
		rec.User = user(id(about.User), cmp.Or(about.UserTeam, about.Team), e.Team)
		rec.Chat = key(id(ev.Channel), about.Thread, about.Stamp, rec.User)
	}
	rec.ID = cmp.Or(join(team, id(ev.Channel), ev.Stamp, ev.Subtype), rec.ID)
	switch ev.Subtype {
	case "", "file_share", "thread_broadcast", "me_message":
		return e.said(team, about, rec), true
	case "message_changed":
		// A link that was unfolded changes a message too, and nothing that is said.
		same := ev.OldMessage != nil && ev.OldMessage.Text == about.Text
		if ev.NewMessage == nil || about.Bot != "" || same {
			return rec, true
		}
		rec.Type = botmesh.TypeEdit
		rec.Message = botmesh.Message{Of: about.Stamp, Text: e.words(about.Text)}
	case "message_deleted":
		of := cmp.Or(ev.Deleted, about.Stamp)
		rec.Type = botmesh.TypeDelete
		rec.ID = cmp.Or(join(team, id(ev.Channel), of, "deleted"), rec.ID)
		rec.Message = botmesh.Message{Of: of}
	case "channel_join", "group_join":
		rec.Type, rec.Message.Status = botmesh.TypeMembership, "joined"
	case "channel_leave", "group_leave":
		rec.Type, rec.Message.Status = botmesh.TypeMembership, "left"
	}
	return rec, true
}

// said is what a user wrote. What another bot wrote is an event: two bots that
// answer each other never end.
func (e *envelope) said(team string, m *message, rec botmesh.Record) botmesh.Record {
	rec.ID = cmp.Or(join(team, id(e.Event.Channel), m.Stamp), rec.ID)
	rec.SentAt = moment(m.Stamp)
	rec.Message = botmesh.Message{Text: e.words(m.Text), MessageID: m.Stamp}
	for _, f := range m.Files {
		if f.ID != "" {
			rec.Message.Media = append(rec.Message.Media, botmesh.Media{Kind: kind(f.Type), Ref: f.ID, Name: f.Name, Type: f.Type, Size: f.Size})
		}
	}
	if m.Bot == "" && rec.User != "" {
		rec.Type = botmesh.TypeMessage
		rec.Message.Unsupported = rec.Message.Text == "" && len(rec.Message.Media) == 0
	}
	return rec
}

func kind(mimetype string) string {
	switch family, _, _ := strings.Cut(mimetype, "/"); family {
	case "image", "video", "audio":
		return family
	}
	return "document"
}

// own reports whether the bot wrote m or did what e tells.
func (e *envelope) own(m *message) bool {
	if m.App != "" && m.App == e.App {
		return true
	}
	for _, a := range e.Authorizations {
		if a.Bot && a.User != "" && a.User == id(m.User) {
			return true
		}
	}
	return false
}

// words is a text as the user wrote it, without a mention of the bot before it.
func (e *envelope) words(text string) string {
	for _, a := range e.Authorizations {
		if rest, ok := strings.CutPrefix(text, "<@"+a.User+">"); ok && a.Bot && a.User != "" {
			text = strings.TrimLeft(rest, " ,:\u00a0")
		}
	}
	return plain(text)
}

var (
	// link is a link that Slack made of what was written, with its words or without.
	link     = regexp.MustCompile(`<((?:https?|mailto|tel):[^|>]*)(?:\|([^>]*))?>`)
	unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// plain takes back what Slack makes of a text on its way: escapes and links.
func plain(text string) string {
	text = link.ReplaceAllStringFunc(text, func(s string) string {
		m := link.FindStringSubmatch(s)
		return cmp.Or(m[2], m[1])
	})
	return unescape.Replace(text)
}
