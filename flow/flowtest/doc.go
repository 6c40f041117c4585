// Package flowtest plays a chat with a bot, with no server:
//
//	p := flowtest.Play(t, shop.Bot())
//	p.User("/order").Bot("What would you like?")
//	p.User("pizza").Bot("How many?")
//	p.User("many").Bot("Please send a whole number.\nHow many?")
//	p.CrashOn("2").Bot("2 x pizza?").Buttons("Yes", "No")
//	p.Tap("Yes").Bot("ordered: 2 x pizza").Silent()
//
// Between any two turns the chat is nothing but its encoded state, so what a
// handler keeps in memory alone is lost here as it is when another replica takes
// the chat. Everything the bot says must be looked at before the user goes on.
//
// [Player.Repeated] runs everything twice and finds what is not to be repeated. [Walk]
// plays a flow at random. [Files] plays chats that are written down in files, and
// [Transcript] one without a test, for examples.
package flowtest
