package whatsapp

import "encoding/json"

// webhook is what the platform posts. What is in the lists is read one by one, so
// that one broken item spoils no other.
type webhook struct {
	Object string            `json:"object"`
	Entry  []json.RawMessage `json:"entry"`
}

type entry struct {
	ID      string            `json:"id"` // of the business account
	Time    json.RawMessage   `json:"time"`
	Changes []json.RawMessage `json:"changes"`
}

type change struct {
	Field string `json:"field"`
	Value value  `json:"value"`
}

type value struct {
	Metadata struct {
		Number string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []json.RawMessage `json:"contacts"`
	Messages []json.RawMessage `json:"messages"`
	Statuses []json.RawMessage `json:"statuses"`
	Echoes   []json.RawMessage `json:"message_echoes"`
	Choices  []json.RawMessage `json:"user_preferences"`
	Errors   []json.RawMessage `json:"errors"`
}

type contact struct {
	Profile struct {
		Name string `json:"name"`
	} `json:"profile"`
	Phone string `json:"wa_id"`
	User  string `json:"user_id"`
}

// message is one that a user sent, or, as an echo, the business's owner.
type message struct {
	ID        string `json:"id"`
	From      string `json:"from"`
	FromUser  string `json:"from_user_id"`
	To        string `json:"to"`
	ToUser    string `json:"to_user_id"`
	Group     string `json:"group_id"`
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Context   struct {
		ID string `json:"id"`
	} `json:"context"`
	Text struct {
		Body string `json:"body"`
	} `json:"text"`
	Image, Video, Audio, Document, Sticker *media
	Interactive                            struct {
		Button *option `json:"button_reply"`
		List   *option `json:"list_reply"`
		Form   *struct {
			Body     string `json:"body"`
			Response string `json:"response_json"`
		} `json:"nfm_reply"`
	} `json:"interactive"`
	Button *struct {
		Payload string `json:"payload"`
		Text    string `json:"text"`
	} `json:"button"`
	Reaction struct {
		Of    string `json:"message_id"`
		Emoji string `json:"emoji"`
	} `json:"reaction"`
	Edit struct {
		Of      string `json:"original_message_id"`
		Message struct {
			Text struct {
				Body string `json:"body"`
			} `json:"text"`
		} `json:"message"`
	} `json:"edit"`
	Revoke struct {
		Of string `json:"original_message_id"`
	} `json:"revoke"`
}

type media struct {
	ID      string `json:"id"`
	Name    string `json:"filename"`
	Type    string `json:"mime_type"`
	Caption string `json:"caption"`
	Size    int64  `json:"file_size"`
	Voice   bool   `json:"voice"`
}

type option struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type status struct {
	ID            string `json:"id"` // of the message
	Status        string `json:"status"`
	Timestamp     string `json:"timestamp"`
	Recipient     string `json:"recipient_id"`
	RecipientUser string `json:"recipient_user_id"`
	RecipientType string `json:"recipient_type"`
	// Participant is who of a group it is about.
	Participant     string `json:"recipient_participant_id"`
	ParticipantUser string `json:"recipient_participant_user_id"`
	// Opaque is what the call that sent the message had it come back with.
	Opaque string `json:"biz_opaque_callback_data"`
	// Errors say why the message failed.
	Errors []struct {
		Code  int    `json:"code"`
		Title string `json:"title"`
	} `json:"errors"`
}

// choice is what a user lets the business send.
type choice struct {
	Phone     string      `json:"wa_id"`
	User      string      `json:"user_id"`
	Category  string      `json:"category"`
	Value     string      `json:"value"` // stop or resume
	Timestamp json.Number `json:"timestamp"`
}
