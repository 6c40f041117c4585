// Command botmesh runs the demo bot in one process, for development, and looks
// after a bot that runs as a fleet.
//
//	botmesh dev                     all in one process, with a chat in the browser
//	botmesh chats ls|show|timeline|tail  what is going on with a chat
//	botmesh chats pause|resume      stop a chat, and let it go on
//	botmesh dlq ls|show|requeue|drop  what was set aside
//	botmesh outbox ls|retry|hold|release  what is to be sent
//	botmesh leases ls|break         who holds what, and taking it away
//	botmesh acts ls                 what operators did
//	botmesh journal ls|show|replay  what came in, what the bot would make of it now, and having it do so
//	botmesh doctor                  what will hurt: servers, streams, clocks, chats that wait
//	botmesh streams plan|apply      the streams as they should be
//	botmesh config print            every setting and where it comes from
//	botmesh flows                   how a bot's own program compares its flows with a lock
//
// Settings are those of the servers: flags, BOTMESH_ variables, a YAML file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/program"
)

type commands struct {
	Dev     devCommand     `cmd:"" help:"Run all of it in this process, with a chat in the browser and nothing to install."`
	Chats   chatsCommand   `cmd:"" help:"What is going on with a chat, and what to do about it."`
	DLQ     dlqCommand     `cmd:"" name:"dlq" help:"What was set aside."`
	Outbox  outboxCommand  `cmd:"" help:"What is to be sent."`
	Leases  leasesCommand  `cmd:"" help:"Who holds what: turns at chats, leadership of sessions, locks."`
	Acts    actsCommand    `cmd:"" help:"What operators did."`
	Journal journalCommand `cmd:"" help:"What came in."`
	Doctor  doctorCommand  `cmd:"" help:"What will hurt the bot: servers, streams, clocks, chats that wait."`
	Streams streamsCommand `cmd:"" help:"The streams as they should be."`
	Config  configCommand  `cmd:"" help:"The settings."`
	Flows   flowsCommand   `cmd:"" help:"Say how a bot's own program writes down what chats that wait depend on, and compares a build with it."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// app is what a command has of its process.
type app struct {
	args, environ  []string
	stdout, stderr *os.File
}

// quit is how the parser ends the program after it showed its help.
type quit int

// exit is the error of a command that has said all and wants an exit code of its own.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	a := &app{args: os.Args[1:], environ: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(a.run(context.Background()))
}

func (a *app) run(ctx context.Context) (code int) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case quit:
			code = int(v)
		default:
			panic(v)
		}
	}()
	// The settings are flags too: what they leave is the command.
	loaded, err := config.Load(config.Input{Args: a.args, Environ: a.environ})
	if err != nil && loaded.Rest == nil {
		return program.Report(a.stderr, "botmesh", config.Wrong(err))
	}
	var cmds commands
	parser, err := kong.New(&cmds, kong.Name("botmesh"), kong.Writers(a.stdout, a.stderr),
		kong.Description("Every setting is a flag too, such as --nats-url: see botmesh config print."),
		kong.Exit(func(code int) { panic(quit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic(err) // the commands are declared wrong
	}
	rest := loaded.Rest
	if len(rest) > 0 && rest[0] == "help" {
		rest = append(rest[1:], "--help")
	}
	parsed, err := parser.Parse(rest)
	if err != nil {
		return program.Report(a.stderr, "botmesh", config.Wrong(fmt.Errorf("%w; see botmesh --help", err)))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(a)
	if e, ok := errors.AsType[exit](err); ok {
		return int(e)
	}
	return program.Report(a.stderr, "botmesh", err)
}

// settings loads what the arguments and the environment say, over a command's own
// defaults.
func (a *app) settings(defaults map[string]string) (config.Loaded, error) {
	loaded, err := config.Load(config.Input{Args: a.args, Environ: a.environ, Defaults: defaults})
	return loaded, config.Wrong(err)
}

// interruptible returns a context that ends with Ctrl-C.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
}

type versionCommand struct{ output }

// Run prints the version.
func (c versionCommand) Run(a *app) error {
	return c.show(a.stdout, map[string]string{"version": program.Version()}, text("botmesh "+program.Version()+"\n"))
}
