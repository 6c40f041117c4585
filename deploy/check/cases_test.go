package check_test

// what is a case of an alert: the series that there are, and in which minute it fires.
type what struct {
	want   int
	series string
}

// cases are named by what happens. Each number is one minute's value; 1+2x3 is 1 3 5 7,
// and 4x3 is 4 four times.
var cases = map[string]map[string]what{
	"BotmeshNoWorker": {
		"none was ever there": {2, ``},
		"one is there":        {never, `bot_dlq_depth{instance="a"} 0x60`},
		"the last one goes":   {16, `bot_dlq_depth{instance="a"} 0x9`}, // Prometheus remembers for five minutes
		"one of two goes": {never, `
			bot_dlq_depth{instance="a"} 0x9
			bot_dlq_depth{instance="b"} 0x60`},
	},
	"BotmeshIngressUnavailable": {
		"one webhook after the other is refused": {16, `
			bot_ingress_messages_total{bot_provider="telegram",outcome="accepted"} 0+60x60
			bot_ingress_messages_total{bot_provider="telegram",outcome="unavailable"} 0x10 1+1x50`},
		"one was refused": {never, `bot_ingress_messages_total{bot_provider="telegram",outcome="unavailable"} 0x10 1x50`},
		"others come":     {never, `bot_ingress_messages_total{bot_provider="telegram",outcome="duplicate"} 0+60x60`},
	},
	"BotmeshSpoolWaits": {
		"what waits stays": {16, `
			bot_ingress_spooled{instance="a"} 0x10 1x50
			bot_ingress_spooled{instance="b"} 0x60`},
		"it went in time": {never, `bot_ingress_spooled{instance="a"} 0x10 9x3 0x50`},
	},
	"BotmeshIngressUnauthorized": {
		"six of ten": {20, `
			bot_ingress_messages_total{bot_provider="slack",outcome="unauthorized"} 0x9 6+6x50
			bot_ingress_messages_total{bot_provider="slack",outcome="accepted"} 0x9 4+4x50`},
		"four of ten": {never, `
			bot_ingress_messages_total{bot_provider="slack",outcome="unauthorized"} 0+4x60
			bot_ingress_messages_total{bot_provider="slack",outcome="accepted"} 0+6x60`},
		"all of one platform, which others outnumber": {11, `
			bot_ingress_messages_total{bot_provider="slack",outcome="unauthorized"} 0+1x60
			bot_ingress_messages_total{bot_provider="whatsapp",outcome="accepted"} 0+100x60`},
	},
	"BotmeshNobodyReceives": {
		"the leader stops and nobody follows": {12, `
			bot_leader{bot_provider="telegram",instance="a"} 1x9 0x50
			bot_leader{bot_provider="telegram",instance="b"} 0x60`},
		"nobody was ever elected": {2, `bot_leader{bot_provider="telegram",instance="a"} 0x60`},
		"another one follows": {never, `
			bot_leader{bot_provider="telegram",instance="a"} 1x9 0x50
			bot_leader{bot_provider="telegram",instance="b"} 0x10 1x49`},
	},
	"BotmeshSessionClosed": {
		"the platform does not answer any more": {15, `
			bot_leader{bot_provider="telegram",instance="a"} 1x60
			bot_sessions_open{bot_provider="telegram",instance="a"} 1x9 0x50`},
		"it never did": {5, `
			bot_leader{bot_provider="telegram",instance="a"} 1x60
			bot_sessions_open{bot_provider="telegram",instance="a"} 0x60`},
		"the leader's is open, the standby's is not": {never, `
			bot_leader{bot_provider="telegram",instance="a"} 1x60
			bot_leader{bot_provider="telegram",instance="b"} 0x60
			bot_sessions_open{bot_provider="telegram",instance="a"} 1x60
			bot_sessions_open{bot_provider="telegram",instance="b"} 0x60`},
		"each holds its own, and none leads": {never, `bot_sessions_open{bot_provider="telegram",instance="a"} 1x60`},
	},
	"BotmeshMessagesWait": {
		"for 15 minutes": {21, `
			bot_waiting_oldest_age{instance="a"} 0+60x60
			bot_chats_paused{instance="a"} 0x60`},
		"while another chat is paused": {21, `
			bot_waiting_oldest_age{instance="a"} 0+60x60
			bot_chats_paused{instance="a"} 1x60`},
		"for less": {never, `
			bot_waiting_oldest_age{instance="a"} 900x60
			bot_chats_paused{instance="a"} 0x60`},
	},
	"BotmeshTurnsWait": {
		"one in ten waits for 5 to 10 s": {11, `
			bot_turn_wait_seconds_bucket{le="5"} 0+9x60
			bot_turn_wait_seconds_bucket{le="10"} 0+10x60
			bot_turn_wait_seconds_bucket{le="+Inf"} 0+10x60`},
		"one in fifty does": {never, `
			bot_turn_wait_seconds_bucket{le="5"} 0+49x60
			bot_turn_wait_seconds_bucket{le="10"} 0+50x60
			bot_turn_wait_seconds_bucket{le="+Inf"} 0+50x60`},
		"nothing happens": {never, `
			bot_turn_wait_seconds_bucket{le="5"} 0x60
			bot_turn_wait_seconds_bucket{le="+Inf"} 0x60`},
	},
	"BotmeshRepliesSlow": {
		"one in ten takes 30 to 60 s": {11, `
			bot_reply_latency_seconds_bucket{le="30"} 0+9x60
			bot_reply_latency_seconds_bucket{le="60"} 0+10x60
			bot_reply_latency_seconds_bucket{le="+Inf"} 0+10x60`},
		"all take 10 to 30 s": {never, `
			bot_reply_latency_seconds_bucket{le="10"} 0x60
			bot_reply_latency_seconds_bucket{le="30"} 0+10x60
			bot_reply_latency_seconds_bucket{le="+Inf"} 0+10x60`},
	},
	"BotmeshRunsFail": {
		"one in ten": {11, `
			bot_turns_total{outcome="applied"} 0+9x60
			bot_turns_total{outcome="failed"} 0+1x60`},
		"one in fifty": {never, `
			bot_turns_total{outcome="applied"} 0+49x60
			bot_turns_total{outcome="failed"} 0+1x60`},
		"lost ones": {never, `
			bot_turns_total{outcome="applied"} 0+9x60
			bot_turns_total{outcome="lost"} 0+1x60`},
	},
	"BotmeshRunsKill": {
		"three in ten minutes": {20, `bot_turn_deaths_total 0x9 1x4 2x4 3x40`},
		"one":                  {never, `bot_turn_deaths_total 0x9 1x50`},
		"one in half an hour":  {never, `bot_turn_deaths_total 0x9 1x30 2x30`},
	},
	"BotmeshTurnsLost": {
		"one a minute":       {16, `bot_lease_lost_total{reason="expired"} 0+1x60`},
		"one in two minutes": {never, `bot_lease_lost_total{reason="expired"} 0+0.5x60`},
		"runs that were cut": {never, `bot_lease_lost_total{reason="settled"} 0+9x60`},
	},
	"BotmeshBlind": {
		"turns without Redis": {15, `bot_turns_blind_total 0x9 5+5x50`},
		"none":                {never, `bot_turns_blind_total 0x60`},
		"for a minute":        {never, `bot_turns_blind_total 0x9 5x50`},
	},
	"BotmeshChatsParked": {
		"one worker of two met some":   {40, "bot_chats_parked{instance=\"a\"} 0x9 2x50\nbot_chats_parked{instance=\"b\"} 0x60"},
		"a newer build came meanwhile": {never, `bot_chats_parked{instance="a"} 0x9 2x20 0x30`},
	},
	"BotmeshDeadLetters": {
		"one":         {10, `bot_dlq_messages_total{kind="record"} 0x9 1x50`},
		"a part":      {10, `bot_dlq_messages_total{kind="send"} 0x9 1x50`},
		"earlier one": {never, `bot_dlq_messages_total{kind="record"} 1x60`},
	},
	"BotmeshManyDeadLetters": {
		"a burst":                     {10, "bot_dlq_depth{instance=\"a\"} 5x9 26x50\nbot_dlq_depth{instance=\"b\"} 5x10 26x49"},
		"two a minute":                {11, `bot_dlq_depth 0+2x60`},
		"one a minute":                {never, `bot_dlq_depth 0+1x60`},
		"many that were there":        {never, `bot_dlq_depth 500x60`},
		"many are there at the start": {never, "bot_dlq_depth{instance=\"a\"} _x9 500x50"},
		"many that are put back":      {never, `bot_dlq_depth 500x9 0x50`},
	},
	"BotmeshDeadLettersOld": {
		"21 days": {0, "bot_dlq_oldest_age 1814400x60\nbot_dlq_depth 1x60"},
		"19 days": {never, "bot_dlq_oldest_age 1641600x60\nbot_dlq_depth 1x60"},
		"none":    {never, "bot_dlq_oldest_age 0x60\nbot_dlq_depth 0x60"},
	},
	"BotmeshDeliveriesFail": {
		"three of ten": {11, `
			bot_outbox_deliveries_total{bot_provider="telegram",outcome="delivered"} 0+7x60
			bot_outbox_deliveries_total{bot_provider="telegram",outcome="retry"} 0+2x60
			bot_outbox_deliveries_total{bot_provider="telegram",outcome="unknown"} 0+1x60`},
		"one of ten, and others that were not made": {never, `
			bot_outbox_deliveries_total{bot_provider="telegram",outcome="delivered"} 0+9x60
			bot_outbox_deliveries_total{bot_provider="telegram",outcome="retry"} 0+1x60
			bot_outbox_deliveries_total{bot_provider="telegram",outcome="blocked"} 0+90x60`},
	},
	"BotmeshAccountDown": {
		"not called any more": {15, `
			bot_outbox_breaker_total{bot_provider="telegram",outcome="open"} 0x9 1x50
			bot_outbox_breaker_total{bot_provider="telegram",outcome="closed"} 0x60`},
		"it came back in time": {never, `
			bot_outbox_breaker_total{bot_provider="telegram",outcome="open"} 0x9 1x50
			bot_outbox_breaker_total{bot_provider="telegram",outcome="closed"} 0x12 1x47`},
		"and nothing was known of coming back": {15, `bot_outbox_breaker_total{bot_provider="telegram",outcome="open"} 0x9 1x50`},
	},
	"BotmeshInDoubt": {
		"six at once":  {10, `bot_outbox_in_doubt_total{bot_provider="telegram"} 0x9 6x50`},
		"four at once": {never, `bot_outbox_in_doubt_total{bot_provider="telegram"} 0x9 4x50`},
	},
	"BotmeshPartsHeld": {
		"for 15 minutes":   {17, `bot_outbox_held_oldest_age{instance="a"} 0+60x60`},
		"released in time": {never, `bot_outbox_held_oldest_age{instance="a"} 0+60x15 0x44`},
		"none":             {never, `bot_outbox_held_oldest_age{instance="a"} 0x60`},
	},
	"BotmeshSurplus": {
		"one":  {10, `bot_outbox_surplus_total 0x9 1x50`},
		"none": {never, `bot_outbox_surplus_total 0x60`},
	},
}
