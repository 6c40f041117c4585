package ingress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/telegram/telegramtest"
)

// serve is the server of a public address, with its bounds changed.
func serve(t *testing.T, j Journal, change func(*http.Server)) (address string) {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = NewServer("", newHandler(t, Config{Journal: j, Receivers: []provider.Receiver{telegramAs(t, "telegram")}}), nil)
	change(srv.Config)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// SPEC: X2
func TestBodyThatDoesNotComeIs408(t *testing.T) {
	t.Parallel()
	var j fakeJournal
	conn := dial(t, serve(t, &j, func(s *http.Server) { s.ReadTimeout = 50 * time.Millisecond }))
	if _, err := io.WriteString(conn, "POST /webhooks/telegram HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout || len(j.calls()) > 0 {
		t.Errorf("got %d and %v journaled, want 408 and nothing", resp.StatusCode, j.calls())
	}
}

// A client that sends its headers byte by byte keeps a connection no longer than one
// that sends none.
//
// SPEC: X2
func TestHeadersThatDoNotComeEndTheConnection(t *testing.T) {
	t.Parallel()
	var j fakeJournal
	conn := dial(t, serve(t, &j, func(s *http.Server) { s.ReadHeaderTimeout = 50 * time.Millisecond }))
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(conn)
		ended <- err
	}()
	for _, b := range []byte("POST /webhooks/telegram HTTP/1.1\r\nX-Endless: " + strings.Repeat("x", 4000)) {
		if _, err := conn.Write([]byte{b}); err != nil {
			break // cut off, as wanted
		}
		select {
		case <-ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("got a connection that lasts, want it cut off")
}

// SPEC: X2
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	var j fakeJournal
	conn := dial(t, serve(t, &j, func(*http.Server) {}))
	go io.WriteString(conn, "POST /webhooks/telegram HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", 64<<10)+"\r\nContent-Length: 2\r\n\r\n{}")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || len(j.calls()) > 0 {
		t.Errorf("got %d and %v journaled, want 431 and nothing", resp.StatusCode, j.calls())
	}
}

// SPEC: X2
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	var j fakeJournal
	h := newHandler(t, Config{Journal: &j, Receivers: []provider.Receiver{stub{id: "stub", parse: func(http.Header, []byte) ([]botmesh.Record, error) {
		return make([]botmesh.Record, maxRecords+1), nil
	}}}})
	w := post(t, h, "stub", []byte("x"))
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "2001 events, over 2000") || len(j.calls()) > 0 {
		t.Errorf("got %d %q and %d publishes, want 413 with the number and nothing journaled", w.Code, w.Body, len(j.calls()))
	}
}

// slowly is a journal that stores one record after the other, each taking some time.
type slowly struct {
	fakeJournal
	busy chan struct{}
}

func newSlowly(each time.Duration) *slowly {
	j := &slowly{busy: make(chan struct{}, 1)}
	j.publish = func(ctx context.Context, _ []botmesh.Record) error {
		select {
		case j.busy <- struct{}{}:
			time.Sleep(each)
			<-j.busy
			return nil
		case <-ctx.Done():
			return errors.Join(botmesh.ErrUnknown, ctx.Err())
		}
	}
	return j
}

// What is over what the journal can store is refused at once. What was taken is
// stored in time: nothing waits only to be refused in the end.
//
// SPEC: J1
func TestOverloadIsRefusedBeforeItDelaysWhatWasTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, Config{Journal: newSlowly(5 * time.Millisecond), Receivers: []provider.Receiver{telegramAs(t, "tg-flood")}})
		var (
			mu  sync.Mutex
			got = map[string]int{}
			all sync.WaitGroup
		)
		for i := range int64(1000) {
			all.Go(func() {
				begin := time.Now()
				w := post(t, h, "tg-flood", telegramtest.Text(i+1, 1000+i, "hi"))
				took := time.Since(begin)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case w.Code == http.StatusOK && took < defaultTimeout:
					got["stored in time"]++
				case w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "" && took == 0:
					got["refused at once"]++
				default:
					got[fmt.Sprintf("%d after %v", w.Code, took)]++
				}
			})
		}
		all.Wait()
		if diff := cmp.Diff(map[string]int{"stored in time": 256, "refused at once": 744}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}
