package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
)

// Files is a platform that keeps one file of a user.
type Files struct {
	// Sender makes a sender to the API at that base address. It is a provider.Opener.
	Sender func(t testing.TB, api string) provider.Sender
	// API is the platform, with the file.
	API http.Handler
	// Media refers to the file at that base address, Gone to one that is not there.
	Media, Gone func(api string) botmesh.Media
	Content     []byte
	// Secret is told to no other host, and is in no error.
	Secret string
}

// Opener checks that a sender reads a file, knows one that is gone from one that can not be
// had just now, and tells its secret to nobody but the platform.
func Opener(t *testing.T, f Files) {
	t.Helper()
	t.Run("Read", func(t *testing.T) {
		t.Parallel()
		api := serveFiles(t, f.API)
		for range 2 { // by the same reference
			file, err := f.open(t.Context(), t, api, f.Media(api))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(file)
			if err := errors.Join(err, file.Close()); err != nil || !bytes.Equal(got, f.Content) || file.Size != int64(len(f.Content)) || file.Name == "" || file.Type == "" {
				t.Errorf("got %d bytes, a size of %d, name %q and type %q with %v, want %d bytes and all of them", len(got), file.Size, file.Name, file.Type, err, len(f.Content))
			}
		}
	})
	t.Run("Gone", func(t *testing.T) {
		t.Parallel()
		api := serveFiles(t, f.API)
		if _, err := f.open(t.Context(), t, api, f.Gone(api)); !errors.Is(err, botmesh.ErrFileGone) {
			t.Errorf("got %v, want that the file is gone", err)
		}
	})
	t.Run("NotNow", func(t *testing.T) {
		t.Parallel()
		broken := serveFiles(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
		late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for name, ctx := range map[string]context.Context{"out of order": t.Context(), "no time left": late} {
			if _, err := f.open(ctx, t, broken, f.Media(broken)); err == nil || permanent(err) {
				t.Errorf("%s: got %v, want an error that may not be for good", name, err)
			}
		}
	})
	t.Run("Redirect", func(t *testing.T) {
		t.Parallel()
		f.redirected(t)
	})
}

func permanent(err error) bool {
	return errors.Is(err, botmesh.ErrFileGone) || errors.Is(err, botmesh.ErrFileTooLarge) || errors.Is(err, botmesh.ErrFileUnsupported)
}

// redirected sends each call of the platform, one after the other, to another host.
func (f Files) redirected(t *testing.T) {
	t.Helper()
	elsewhere := serveFiles(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all strings.Builder
		if err := r.Write(&all); err != nil || strings.Contains(all.String(), f.Secret) {
			t.Errorf("another host got %q with %v, want no secret", all.String(), err)
		}
	}))
	for n := range 3 {
		calls := 0
		api := serveFiles(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls > n {
				http.Redirect(w, r, strings.Replace(elsewhere, "127.0.0.1", "localhost", 1), http.StatusFound)
				return
			}
			f.API.ServeHTTP(w, r)
		}))
		if file, err := f.open(t.Context(), t, api, f.Media(api)); err == nil {
			file.Close()
		}
	}
}

// open opens a file and looks at its error.
func (f Files) open(ctx context.Context, t *testing.T, api string, m botmesh.Media) (*botmesh.File, error) {
	t.Helper()
	s := f.Sender(t, api)
	o, ok := s.(provider.Opener)
	if !ok {
		t.Fatalf("got a %T, want a provider.Opener", s)
	}
	file, err := o.Open(ctx, botmesh.ChatKey{Provider: s.ID(), Chat: "1"}, m)
	if err != nil && strings.Contains(err.Error(), f.Secret) {
		t.Errorf("got the secret in %q, want it nowhere", err)
	}
	return file, err
}

func serveFiles(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}
