package slack

// envelope is what the Events API posts.
type envelope struct {
	Type           string `json:"type"`
	Team           string `json:"team_id"`
	Enterprise     string `json:"enterprise_id"`
	App            string `json:"api_app_id"`
	EventID        string `json:"event_id"`
	EventTime      int64  `json:"event_time"`
	Authorizations []struct {
		User string `json:"user_id"`
		Bot  bool   `json:"is_bot"`
	} `json:"authorizations"`
	Event event `json:"event"`
}

// event is a message or one of many other things; a field that differs in form
// from one kind to another is read by its kind.
type event struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	message
	Channel     any      `json:"channel"` // an id, or an object of what was made or renamed
	EventStamp  string   `json:"event_ts"`
	Hidden      bool     `json:"hidden"`
	Deleted     string   `json:"deleted_ts"`
	NewMessage  *message `json:"message"`
	OldMessage  *message `json:"previous_message"`
	Reaction    string   `json:"reaction"`
	ReactedItem struct {
		Channel string `json:"channel"`
		Stamp   string `json:"ts"`
	} `json:"item"`
}

// message is a message, in an event of its own or in one about it.
type message struct {
	User     any    `json:"user"` // an id, or an object in an event about a user
	UserTeam string `json:"user_team"`
	Team     string `json:"team"`
	Bot      string `json:"bot_id"`
	App      string `json:"app_id"`
	Text     string `json:"text"`
	Stamp    string `json:"ts"`
	Thread   string `json:"thread_ts"`
	Files    []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Type string `json:"mimetype"`
		Size int64  `json:"size"`
	} `json:"files"`
}

// interaction is what the payload of a form holds: what somebody did with what the
// bot showed.
type interaction struct {
	Type string `json:"type"`
	App  string `json:"api_app_id"`
	User struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Name     string `json:"name"`
		Team     string `json:"team_id"`
	} `json:"user"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	Enterprise struct {
		ID string `json:"id"`
	} `json:"enterprise"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Container struct {
		Channel string `json:"channel_id"`
		Stamp   string `json:"message_ts"`
		Thread  string `json:"thread_ts"`
	} `json:"container"`
	Message struct {
		Thread string `json:"thread_ts"`
	} `json:"message"`
	Trigger string   `json:"trigger_id"`
	Actions []action `json:"actions"`
}

type action struct {
	ID    string `json:"action_id"`
	Type  string `json:"type"`
	Stamp string `json:"action_ts"`
	Value string `json:"value"`
	Label struct {
		Text string `json:"text"`
	} `json:"text"`
	Selected struct {
		Value string `json:"value"`
	} `json:"selected_option"`
}

// id is a value that is an id, empty if it is something else.
func id(v any) string {
	s, _ := v.(string)
	return s
}
