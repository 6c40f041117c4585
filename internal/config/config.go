package config

import "time"

// Config is every setting. The tags are the key, the default, the values that
// are allowed and what the help says; key of a struct is put before those in it.
type Config struct {
	Bot       string `key:"bot" default:"demo" help:"id of the bot, [a-z0-9-]{1,32}"`
	ReplicaID string `key:"replica_id" help:"name of this replica, unique among the running ones; a random UUID if not set"`
	Deploy    int    `key:"deploy" default:"0" help:"number of this deploy: a worker leaves chats of a newer one alone; 0 is off"`

	NATS            NATS          `key:"nats"`
	Redis           Redis         `key:"redis"`
	Store           URL           `key:"store" default:"nats" help:"checkpoint store; nats is the only one built in yet"`
	Streams         string        `key:"streams" default:"create" oneof:"create verify trust" help:"what a start does about streams: create the absent ones, verify that all are there, or trust without looking"`
	Replicas        int           `key:"replicas" default:"0" help:"copies of each stream; 0 means 1 on a single server and 3 on a cluster"`
	Prefix          string        `key:"prefix" help:"begins every key in Redis; botmesh:<bot> if not set"`
	Lease           time.Duration `key:"lease" default:"15s" help:"how long a turn outlives a replica that died"`
	TurnWait        time.Duration `key:"turn_wait" default:"2m" help:"how long a message waits for its turn before it is put off"`
	Settle          time.Duration `key:"settle" default:"1m" help:"how long the run of one message may take"`
	MaxPoll         time.Duration `key:"max_poll" default:"100ms" help:"how often a waiter asks Redis while it gets no wake-ups"`
	Retention       time.Duration `key:"retention" default:"192h" help:"how long the journal keeps messages; a repetition that comes later is not recognised"`
	DuplicateWindow time.Duration `key:"duplicate_window" default:"2m" help:"how long the journal itself recognises a repeated webhook; recent ones of a chat are recognised for longer"`
	Tries           int           `key:"tries" default:"5" help:"how often a failing message is tried before it is set aside"`
	Concurrency     int           `key:"concurrency" default:"256" help:"chats that a worker runs at once"`
	MaxFileBytes    int           `key:"max_file_bytes" default:"20971520" help:"largest file of a user that a bot may read, in bytes"`
	Drain           time.Duration `key:"drain" default:"15s" help:"how long a stopping program may finish what it began"`

	StaleAfter time.Duration `key:"stale_after" default:"0s" help:"how old a message may be, by its platform's time, before a bot takes it for one that comes too late; for bots whose code does not say; 0s is off"`

	Handover Handover `key:"handover"`

	ProviderSession string        `key:"provider_session" default:"auto" oneof:"auto leader shared" help:"who runs what fetches messages: auto, the elected leader if only one may; leader, always the leader; shared, every ingress"`
	ProviderDown    time.Duration `key:"provider_down" default:"1m" help:"how long that may stay closed before its leader steps down for another ingress"`

	Listen      string `key:"listen" default:"127.0.0.1:8080" help:"the ingress's address for webhooks"`
	TLS         TLS    `key:"tls"`
	Spool       Spool  `key:"spool"`
	AdminListen string `key:"admin_listen" help:"private address for /healthz, /readyz, /metrics and /statusz; 127.0.0.1:9090, ingress 127.0.0.1:9091"`

	AdminTLS TLS `key:"admin_tls"`

	SendRate Rate `key:"send_rate" help:"calls to all platforms together: 30/s, 20/m, or 30/s+5 for five at once; no limit if not set"`

	AdminToken Secret `key:"admin_token" help:"who knows it may look at chats, act on them and send to them through the worker's private address, /v1; at least 16 characters; turns that on"`
	AdminURL   URL    `key:"admin_url" help:"a worker's private address, http://127.0.0.1:9090: botmesh commands then ask that worker, and not the servers themselves"`

	Telegram         Telegram         `key:"telegram"`
	WhatsApp         WhatsApp         `key:"whatsapp"`
	Slack            Slack            `key:"slack"`
	StandardWebhooks StandardWebhooks `key:"standardwebhooks"`
	Webchat          Webchat          `key:"webchat"`
	Log              Log              `key:"log"`
}

// Handover is what becomes of flows that are not kept (flow.Ephemeral) when another
// worker gets their chat, where the bot's code says nothing of it. A setting of workers.
type Handover struct {
	Flows    string        `key:"flows" default:"off" oneof:"off forward" help:"whether flows that are not kept go on at another worker: off, they are lost; forward, they go on for a while; for bots whose code does not call Handover"`
	Fallback string        `key:"fallback" default:"drop" oneof:"drop notify restart" help:"what is done for a flow that is lost, when the user says something: drop, the message is handled like any other; notify, the user is told; restart, the flow begins anew"`
	TTL      time.Duration `key:"ttl" default:"5m" help:"how long after its last question a flow is forwarded that says nothing of it"`
}

// Spool is what an ingress keeps on its disk while NATS does not take it. It is on where
// Dir is set.
type Spool struct {
	Dir      string `key:"dir" help:"directory in which an ingress keeps messages while NATS does not take them, in place of refusing them; each ingress needs its own, on a disk that outlives it; turns that on"`
	MaxBytes int    `key:"max_bytes" default:"268435456" help:"how much is kept there; what is over that is refused"`
}

// NATS is how to reach the servers that keep the streams.
type NATS struct {
	URL      URL    `key:"url" default:"nats://127.0.0.1:4222" help:"NATS servers, parted by commas"`
	Creds    string `key:"creds" help:"path of a NATS credentials file"`
	User     string `key:"user" help:"name of the user on the NATS servers, in place of one in their address"`
	Password Secret `key:"password" help:"password of that user"`
	CA       string `key:"ca" help:"PEM file of the authorities that vouch for the NATS servers, in place of the machine's; asks for TLS"`
	Cert     string `key:"cert" help:"PEM file of the certificate to show to the NATS servers"`
	Key      string `key:"key" help:"PEM file of its key"`
}

// TLS is what a server shows of itself. Without it, it speaks plain HTTP.
type TLS struct {
	Cert string `key:"cert" help:"PEM file of the certificate, with which that address speaks HTTPS; read again when it changes"`
	Key  string `key:"key" help:"PEM file of its key"`
}

// Redis is how to reach the server that coordinates the workers.
type Redis struct {
	URL  URL    `key:"url" default:"redis://127.0.0.1:6379/0" help:"redis://…, rediss://…, redis+cluster://h1,h2 or redis+sentinel://h1,h2/master"`
	CA   string `key:"ca" help:"PEM file of the authorities that vouch for Redis, in place of the machine's; for rediss://"`
	Cert string `key:"cert" help:"PEM file of the certificate to show to Redis"`
	Key  string `key:"key" help:"PEM file of its key"`
	// Down is a setting of workers.
	Down string `key:"down" default:"wait" oneof:"wait optimistic" help:"what workers do while Redis is away: wait for it, or go on without turns, where of two that serve a chat at once one throws away what it did"`
}

// Telegram is the bot's account on Telegram.
type Telegram struct {
	Token       Secret `key:"token" help:"bot token; workers need it to send, and an ingress that polls"`
	Mode        string `key:"mode" default:"webhook" oneof:"webhook polling" help:"how messages come: Telegram posts them to the webhook, or the leader among the ingress asks for them"`
	Secret      Secret `key:"secret" help:"secret token of the webhook; the ingress needs it to take messages"`
	APIURL      URL    `key:"api_url" default:"https://api.telegram.org" help:"base address of Telegram's API"`
	InDoubt     string `key:"in_doubt" default:"resend" oneof:"resend hold" help:"what to do with a message that Telegram may already have: resend it, or hold it back"`
	AccountRate Rate   `key:"account_rate" help:"calls that Telegram allows of the account: 30/s, 20/m, 30/s+5 for five at once, or off; what it publishes if not set"`
	ChatRate    Rate   `key:"chat_rate" help:"calls that Telegram allows to one chat, in the same form"`
}

// Polls reports whether messages are asked for rather than posted.
func (t Telegram) Polls() bool { return t.Mode == "polling" }

// WhatsApp is the bot's number on the WhatsApp Cloud API.
type WhatsApp struct {
	AccessToken   Secret `key:"access_token" help:"access token of the Meta app; workers need it to send"`
	AppSecret     Secret `key:"app_secret" help:"secret of the Meta app, which signs its webhooks; the ingress needs it to take messages"`
	VerifyToken   Secret `key:"verify_token" help:"what was entered beside the webhook's address; the ingress needs it when Meta verifies that"`
	PhoneNumberID string `key:"phone_number_id" help:"id (not the phone number) of the number to send from; workers need it, the ingress where the app has several numbers"`
	APIURL        URL    `key:"api_url" default:"https://graph.facebook.com/v26.0" help:"base address of the Graph API, with its version"`
	InDoubt       string `key:"in_doubt" default:"resend" oneof:"resend hold" help:"what to do with a message that WhatsApp may already have: resend it, or hold it back"`
	AccountRate   Rate   `key:"account_rate" help:"calls that WhatsApp allows of the number: 80/s, 20/m, 30/s+5 for five at once, or off; what it publishes if not set"`
	ChatRate      Rate   `key:"chat_rate" help:"calls that WhatsApp allows to one user, in the same form"`
}

// Slack is the bot's app on Slack.
type Slack struct {
	Token         Secret `key:"token" help:"bot token (xoxb-…); workers need it to send"`
	SigningSecret Secret `key:"signing_secret" help:"signing secret of the app; the ingress needs it to take messages"`
	APIURL        URL    `key:"api_url" default:"https://slack.com/api" help:"base address of Slack's Web API"`
	InDoubt       string `key:"in_doubt" default:"resend" oneof:"resend hold" help:"what to do with a message that Slack may already have: resend it, or hold it back"`
	AccountRate   Rate   `key:"account_rate" help:"calls that Slack allows of the app in a workspace: 300/m, 30/s+5 for five at once, or off; what it publishes if not set"`
	ChatRate      Rate   `key:"chat_rate" help:"calls that Slack allows to one channel, in the same form"`
}

// StandardWebhooks is a backend of one's own that is a channel.
type StandardWebhooks struct {
	Secret      Secret `key:"secret" help:"what the backend signs with, whsec_… or whpk_…, several parted by spaces; the ingress needs it to take messages"`
	SendSecret  Secret `key:"send_secret" help:"what messages to the backend are signed with, whsec_…; workers need it, and the address, to send"`
	APIURL      URL    `key:"api_url" help:"the backend's address, to which messages are posted"`
	Files       string `key:"files" default:"public" oneof:"public private" help:"where files that the backend refers to may be: public, at https addresses of the internet; private, at any address, also of this network"`
	AccountRate Rate   `key:"account_rate" help:"calls that the backend allows: 30/s, 20/m, 30/s+5 for five at once; no limit if not set"`
	ChatRate    Rate   `key:"chat_rate" help:"calls that the backend allows to one conversation, in the same form"`
}

// Webchat is the web page that the ingress serves at /. It is on where Secret is set.
type Webchat struct {
	Secret Secret `key:"secret" help:"signs the sessions of the web chat, at least 16 characters; turns it on, in ingress and workers"`
}

// Log is what the programs write about themselves.
type Log struct {
	Level  string `key:"level" default:"info" oneof:"debug info warn error" help:"what is logged: debug, info, warn or error"`
	Format string `key:"format" default:"auto" oneof:"auto json text" help:"json, text, or auto: text on a terminal and JSON elsewhere"`
}

// foreign begins the environment variables that the demo bot reads itself.
const foreign = "BOTMESH_DEMO_"
