package provider_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// shelf is a platform that keeps files.
type shelf struct {
	provider.Sender
	open func(ctx context.Context, m botmesh.Media) (*botmesh.File, error)
}

func (shelf) ID() string { return "shelf" }
func (s shelf) Open(ctx context.Context, _ botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	return s.open(ctx, m)
}

// bare is a platform that keeps none.
type bare struct{ provider.Sender }

func (bare) ID() string { return "bare" }

func opener(t *testing.T, s provider.Sender) botmesh.OpenFile {
	t.Helper()
	open, err := provider.NewFiles(provider.FilesConfig{Senders: []provider.Sender{s, bare{}}, MaxFile: 10})
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// closing counts how often a file is closed.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

// SPEC: X2
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	chat := botmesh.ChatKey{Provider: "shelf", Chat: "1"}
	for name, c := range map[string]struct {
		size    int64 // as the platform tells it
		content string
		told    int64 // as the message told it
		opens   bool
		want    error
	}{
		"Whole":       {10, "0123456789", 0, true, nil},
		"Unknown":     {-1, "0123456789", 0, true, nil},
		"Empty":       {0, "", 0, true, nil},
		"SaysTooMuch": {11, "", 0, false, botmesh.ErrFileTooLarge},
		"ToldTooMuch": {1, "0", 11, false, botmesh.ErrFileTooLarge},
		"Lies":        {3, "0123456789a", 0, true, botmesh.ErrFileTooLarge},
		"TellsNot":    {-1, strings.Repeat("0123456789", 1000), 0, true, botmesh.ErrFileTooLarge},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{"AtOnce": func(r io.Reader) io.Reader { return r }, "ByteByByte": iotest.OneByteReader, "WithTheEnd": iotest.DataErrReader} {
			t.Run(name+way, func(t *testing.T) {
				t.Parallel()
				body := &closing{Reader: wrap(strings.NewReader(c.content))}
				f, err := opener(t, shelf{open: func(context.Context, botmesh.Media) (*botmesh.File, error) {
					return &botmesh.File{ReadCloser: body, Size: c.size}, nil
				}})(t.Context(), chat, botmesh.Media{Ref: "1", Size: c.told})
				if !c.opens {
					if !errors.Is(err, c.want) || c.told == 0 && body.closed != 1 {
						t.Errorf("got %v and %d times closed, want %v and closed", err, body.closed, c.want)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(f)
				if !errors.Is(err, c.want) || string(got) != c.content[:min(10, len(c.content))] {
					t.Errorf("got %q and %v, want at most ten bytes and %v", got, err, c.want)
				}
				if err := errors.Join(f.Close(), f.Close()); err != nil || body.closed != 1 {
					t.Errorf("got %v and %d times closed, want once", err, body.closed)
				}
			})
		}
	}
}

func TestFilesThatCanNotBeHad(t *testing.T) {
	t.Parallel()
	open := opener(t, shelf{})
	for name, c := range map[string]struct {
		of   string
		m    botmesh.Media
		want error
	}{
		"NoPlatform":  {"nobody", botmesh.Media{Ref: "1"}, botmesh.ErrFileUnsupported},
		"NoFiles":     {"bare", botmesh.Media{Ref: "1"}, botmesh.ErrFileUnsupported},
		"NoReference": {"shelf", botmesh.Media{}, botmesh.ErrFileGone},
	} {
		if _, err := open(t.Context(), botmesh.ChatKey{Provider: c.of}, c.m); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if _, err := provider.NewFiles(provider.FilesConfig{MaxFile: -1}); err == nil {
		t.Error("got no error for a bound below zero, want one")
	}
}

// A file that hangs, at its beginning or in its midst, ends in time; so does one whose run
// has ended.
func TestFilesEndInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := shelf{open: func(ctx context.Context, m botmesh.Media) (*botmesh.File, error) {
			if m.Ref == "never" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &botmesh.File{ReadCloser: &closing{Reader: slow{ctx}}, Size: -1}, nil
		}}
		open, chat := opener(t, hangs), botmesh.ChatKey{Provider: "shelf"}
		began := time.Now()
		if _, err := open(t.Context(), chat, botmesh.Media{Ref: "never"}); err == nil || errors.Is(err, context.Canceled) || time.Since(began) != provider.DefaultFileTimeout {
			t.Errorf("got %v after %v, want it given up after %v", err, time.Since(began), provider.DefaultFileTimeout)
		}
		why := errors.New("the run has ended")
		run, end := context.WithCancelCause(t.Context())
		f, err := open(run, chat, botmesh.Media{Ref: "midway"})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { end(why) })
		if _, err := io.ReadAll(f); !errors.Is(err, why) {
			t.Errorf("got %v, want %v", err, why)
		}
		f.Close()
	})
}

type slow struct{ ctx context.Context }

func (s slow) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
