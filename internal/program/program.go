// Package program is how Botmesh's servers start and end.
//
// They read their settings, set up telemetry and the private address, do their
// work until SIGTERM or SIGINT, drain, and exit: with 0 after a drain, 2 for a wrong
// configuration, told in a line for each thing that is wrong, 1 for anything
// else. A second signal ends the program at once, unless it comes within a second
// of the first: a wrapper such as timeout repeats what it was told.
//
// What belongs here: what all of them do in the same way. The work is theirs.
package program

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/botmesh-go/botmesh/internal/config"
	"github.com/botmesh-go/botmesh/internal/private"
	"github.com/botmesh-go/botmesh/internal/tlsfiles"
	"github.com/botmesh-go/botmesh/telemetry/export"
)

// module is the path by which the build knows Botmesh.
const module = "github.com/botmesh-go/botmesh"

// overtime is what a program gets beyond its drain to close its connections and
// flush its telemetry; then it ends whatever it does.
const overtime = 10 * time.Second

// repetition is how long after the first signal another one is that same one again.
const repetition = time.Second

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitWrong  = 2 // the configuration is wrong
)

// Program is a server to be run by [Main].
type Program struct {
	// Name is what kind of program it is, in logs and telemetry. Its user is told [Called].
	Name string
	// Usage are further ways to call it, each in one line after its name.
	Usage []string
	// Elsewhere says of an argument that is no setting which program takes it, empty if
	// none; nil knows of none.
	Elsewhere func(arg string) string
	// Defaults are the program's own defaults of settings, by key.
	Defaults map[string]string
	// Log is where log lines go. Defaults to standard output.
	Log *os.File
	// Check says what the settings lack for this program; nil asks for nothing.
	Check func(config.Config) error
	// Run works until ctx ends, then drains within Settings.Drain and returns nil.
	// An error marked by config.Wrong is told to the user as it is.
	Run func(ctx context.Context, p Process) error
}

// Process is what a running program has.
type Process struct {
	Settings config.Config // ReplicaID is never empty
	Version  string
	Log      *slog.Logger
	// Private is served; it stops being ready by itself when the drain begins.
	Private *private.Server
}

// Main runs p with the process's arguments and environment, and exits.
func Main(p Program) {
	os.Exit(p.run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// Load reads and checks the settings of a program that is asked for something else than
// to serve. Rest holds what is no setting.
func (p Program) Load(args []string) (config.Loaded, error) {
	loaded, err := config.Load(config.Input{Args: args, Environ: os.Environ(), Defaults: p.Defaults})
	if err == nil && p.Check != nil {
		err = p.Check(loaded.Config)
	}
	if loaded.ReplicaID == "" {
		loaded.ReplicaID = uuid.NewString()
	}
	return loaded, config.Wrong(err)
}

func (p Program) run(args, environ []string, stdout, stderr *os.File) int {
	loaded, err := config.Load(config.Input{Args: args, Environ: environ, Defaults: p.Defaults})
	for _, arg := range loaded.Rest {
		switch arg {
		case "--help", "-h":
			return p.help(stdout, stderr)
		case "--version":
			return Report(stderr, Called(), show(stdout, Called()+" (botmesh "+Version()+")\n"))
		}
		err = cmp.Or(err, p.unexpected(arg))
	}
	if err == nil && p.Check != nil {
		err = p.Check(loaded.Config)
	}
	if err != nil {
		return Report(stderr, Called(), config.Wrong(err))
	}
	if loaded.ReplicaID == "" {
		loaded.ReplicaID = uuid.NewString()
	}
	log := Logger(cmp.Or(p.Log, stdout), loaded.Log).With("service", p.Name, "replica", loaded.ReplicaID)
	return Report(stderr, Called(), p.Serve(loaded.Config, environ, log))
}

// Called is what the user of this process calls its program: the name of its file.
func Called() string { return strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") }

// unexpected says what is wrong with an argument that is no setting.
func (p Program) unexpected(arg string) error {
	if p.Elsewhere != nil {
		if whose := p.Elsewhere(arg); whose != "" {
			return fmt.Errorf("%q is for %s", arg, whose)
		}
	}
	return config.Unexpected(arg)
}

// Serve runs the program with settings that were loaded and checked, until it
// fails or was drained after a signal.
func (p Program) Serve(settings config.Config, environ []string, log *slog.Logger) (err error) {
	log = log.With("bot", settings.Bot)
	ctx, stop := interrupted(context.Background(), settings.Drain, log)
	defer stop()
	sdk, err := export.Start(ctx, export.Config{
		Service: p.Name, Version: Version(), Replica: settings.ReplicaID, Env: lookup(environ), Logger: log,
	})
	if err != nil {
		return config.Wrong(err) // only the OTEL_ variables can be at fault
	}
	defer func() {
		if closeErr := sdk.Close(ctx); closeErr != nil {
			log.Warn("telemetry was not flushed", "err", closeErr)
		}
	}()
	secure, err := tlsfiles.Server(tlsfiles.Files{Cert: settings.AdminTLS.Cert, Key: settings.AdminTLS.Key}, log)
	if err != nil {
		return config.Wrong(fmt.Errorf("%s, %s: %w", config.EnvName("admin_tls_cert"), config.EnvName("admin_tls_key"), err))
	}
	priv, err := private.Start(private.Config{Listen: settings.AdminListen, Metrics: sdk.Metrics(), TLS: secure, Logger: log})
	if err != nil {
		return fmt.Errorf("%w (BOTMESH_ADMIN_LISTEN chooses another)", err)
	}
	defer closePrivate(ctx, priv, log)
	defer context.AfterFunc(ctx, priv.Drain)()

	log.Info("started", "version", Version(), "private", priv.Addr())
	if err := p.Run(ctx, Process{Settings: settings, Version: Version(), Log: log, Private: priv}); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// interrupted returns a context that ends with the first signal. A later one, or
// a drain that does not end, ends the process.
func interrupted(ctx context.Context, drain time.Duration, log *slog.Logger) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		first, ok := <-signals
		if !ok {
			return
		}
		log.Info("stopping", "signal", first.String())
		began := time.Now()
		cancel()
		switch second, ended := another(signals, began, time.After(drain+overtime)); {
		case ended:
			return
		case second != nil:
			log.Warn("ended by a second signal", "signal", second.String())
		default:
			log.Error("ended since the drain does not end")
		}
		os.Exit(ExitFailed)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}

// another waits for a signal that is no repetition of the one that came at began.
// It returns nil if the time is up, and true if the channel was closed.
func another(signals <-chan os.Signal, began time.Time, up <-chan time.Time) (second os.Signal, ended bool) {
	for {
		select {
		case second, ok := <-signals:
			if !ok || time.Since(began) >= repetition {
				return second, !ok
			}
		case <-up:
			return nil, false
		}
	}
}

func closePrivate(ctx context.Context, priv *private.Server, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := priv.Close(ctx); err != nil {
		log.Warn("the private address was not closed in order", "err", err)
	}
}

func (p Program) help(stdout, stderr io.Writer) int {
	usage := "Usage: " + Called() + " [flags]\n"
	for _, way := range p.Usage {
		usage += "       " + Called() + " " + way + "\n"
	}
	err := show(stdout, usage+"\n")
	if err == nil {
		err = config.Usage(stdout, p.Defaults)
	}
	return Report(stderr, Called(), err)
}

func show(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// Report tells the user of the program called name what went wrong, a line for
// each thing, and returns the exit code.
func Report(stderr io.Writer, name string, err error) int {
	if err == nil {
		return ExitOK
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "%s: %s\n", name, strings.TrimPrefix(strings.TrimSpace(line), name+": "))
	}
	if config.IsWrong(err) {
		return ExitWrong
	}
	return ExitFailed
}

// Logger is the logger that the settings ask for.
func Logger(w *os.File, s config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.Level)); err != nil {
		level = slog.LevelInfo // the settings were checked
	}
	json := s.Format == "json" || s.Format == "auto" && !terminal(w)
	return export.NewLogger(w, level, json)
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, pair := range environ {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// Version is Botmesh's version in this build, "devel" if it has none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return "devel"
}
