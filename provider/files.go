package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/botmesh-go/botmesh"
)

// The defaults of [FilesConfig].
const (
	DefaultMaxFile     = 20 << 20 // bytes, which is what Telegram gives bots at most
	DefaultFileTimeout = time.Minute
)

// FilesConfig configures [NewFiles].
type FilesConfig struct {
	// Senders are the platforms, of which those that are an [Opener] give files.
	Senders []Sender
	// MaxFile bounds a file, in bytes. Defaults to [DefaultMaxFile].
	MaxFile int64
	// Timeout bounds how long a file may take, from the first call to the last byte.
	// Defaults to [DefaultFileTimeout].
	Timeout time.Duration
}

// NewFiles makes what opens the files of all platforms, each within the bounds: a file that
// says to be too large is not read at all, of one that says less than there is no more than
// the bound. It is for runs; see [botmesh.Run.Open].
func NewFiles(cfg FilesConfig) (botmesh.OpenFile, error) {
	if cfg.MaxFile < 0 || cfg.Timeout < 0 {
		return nil, errors.New("provider: FilesConfig: MaxFile and Timeout must not be negative")
	}
	f := files{map[string]Opener{}, cmp.Or(cfg.MaxFile, DefaultMaxFile), cmp.Or(cfg.Timeout, DefaultFileTimeout)}
	for _, s := range cfg.Senders {
		if o, ok := s.(Opener); ok {
			f.openers[s.ID()] = o
		}
	}
	return f.open, nil
}

type files struct {
	openers map[string]Opener
	most    int64
	timeout time.Duration
}

var errFileSlow = errors.New("provider: the file did not come in time")

func (f files) open(ctx context.Context, chat botmesh.ChatKey, m botmesh.Media) (*botmesh.File, error) {
	o := f.openers[chat.Provider]
	switch {
	case o == nil:
		return nil, fmt.Errorf("%w: %s has none to give", botmesh.ErrFileUnsupported, chat.Provider)
	case m.Ref == "":
		return nil, fmt.Errorf("%w: there is no reference to it", botmesh.ErrFileGone)
	case m.Size > f.most:
		return nil, f.tooLarge(m.Size)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, errFileSlow)
	file, err := o.Open(ctx, chat, m)
	if err != nil {
		defer cancel()
		return nil, inTime(ctx, err)
	}
	if file.Size > f.most {
		defer cancel()
		return nil, errors.Join(f.tooLarge(file.Size), file.Close())
	}
	file.ReadCloser = &bounded{ctx: ctx, cancel: cancel, from: file.ReadCloser, most: f.most, left: f.most}
	return file, nil
}

func (f files) tooLarge(size int64) error {
	return fmt.Errorf("%w: %d bytes, want at most %d", botmesh.ErrFileTooLarge, size, f.most)
}

// inTime is err, or why ctx ended if that is what err comes of.
func inTime(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// bounded reads a file up to a bound.
type bounded struct {
	ctx        context.Context
	cancel     context.CancelFunc
	from       io.ReadCloser
	most, left int64

	once   sync.Once
	closed error
}

func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.left < 0 {
		return 0, b.tooLarge()
	}
	// One byte more than there may be tells a file that ends at the bound from one over it.
	n, err := b.from.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, b.tooLarge()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = inTime(b.ctx, err)
	}
	return n, err
}

func (b *bounded) tooLarge() error {
	return fmt.Errorf("%w: more than %d bytes", botmesh.ErrFileTooLarge, b.most)
}

// Close ends the reading, also in the midst of it. It may be called again.
func (b *bounded) Close() error {
	b.once.Do(func() {
		b.cancel()
		b.closed = b.from.Close()
	})
	return b.closed
}
