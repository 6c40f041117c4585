package netproxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/botmesh-go/botmesh/e2e/netproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// generous bounds what must come, brief what must not.
const (
	generous = 10 * time.Second
	brief    = 100 * time.Millisecond
)

// echo answers each line with the same line, and tells each on heard.
func echo(t *testing.T) (addr string, heard chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heard = make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for in := bufio.NewReader(c); ; {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					heard <- line
					io.WriteString(c, line)
				}
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String(), heard
}

// client is a connection through a proxy.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func dial(t *testing.T, p *netproxy.Proxy) *client {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) hear(within time.Duration) (string, error) {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.in.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (c *client) hears(want string) {
	c.t.Helper()
	if got, err := c.hear(generous); got != want || err != nil {
		c.t.Fatalf("got %q, %v, want %q", got, err, want)
	}
}

func (c *client) silence() {
	c.t.Helper()
	if got, err := c.hear(brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("got %q, %v, want nothing", got, err)
	}
}

func (c *client) isGone() {
	c.t.Helper()
	if got, err := c.hear(generous); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("got %q, %v, want a closed connection", got, err)
	}
}

func started(t *testing.T) (*netproxy.Proxy, chan string) {
	t.Helper()
	addr, heard := echo(t)
	p, err := netproxy.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, heard
}

func TestProxyPassesOn(t *testing.T) {
	t.Parallel()
	p, _ := started(t)
	c := dial(t, p)
	c.say("one")
	c.hears("one")
	if got := p.Stats(); got.Connections != 1 || got.Touched() != 0 {
		t.Errorf("got %+v, want one connection, untouched", got)
	}
}

func TestCutResetsWhatIsThereAndWhatComes(t *testing.T) {
	t.Parallel()
	p, _ := started(t)
	old := dial(t, p)
	old.say("one")
	old.hears("one")
	p.Set(netproxy.Rules{Cut: true})
	old.isGone()
	// The reset may come before the connection is known to stand.
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Cleanup(func() { c.Close() })
		(&client{c, t, bufio.NewReader(c)}).isGone()
	} else if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
	if got := p.Stats().Cut; got != 2 {
		t.Errorf("got %d cut, want 2", got)
	}
	p.Set(netproxy.Rules{})
	c := dial(t, p)
	c.say("two")
	c.hears("two")
}

func TestHeldAnswersComeLate(t *testing.T) {
	t.Parallel()
	p, heard := started(t)
	c := dial(t, p)
	p.Set(netproxy.Rules{HoldAnswers: true})
	c.say("one")
	if got := <-heard; got != "one\n" {
		t.Errorf("got %q, want the request to arrive", got)
	}
	c.silence()
	p.Set(netproxy.Rules{})
	c.hears("one")
}

func TestHeldRequestsComeLate(t *testing.T) {
	t.Parallel()
	p, heard := started(t)
	c := dial(t, p)
	p.Set(netproxy.Rules{HoldRequests: true})
	c.say("one")
	c.silence()
	if len(heard) != 0 {
		t.Error("got the request at the target, want it held")
	}
	p.Set(netproxy.Rules{})
	c.hears("one")
}

func TestLostAnswersNeverCome(t *testing.T) {
	t.Parallel()
	p, heard := started(t)
	touched, idle := dial(t, p), dial(t, p)
	idle.say("zero")
	idle.hears("zero")
	<-heard
	p.Set(netproxy.Rules{HoldAnswers: true, Lose: true})
	touched.say("one")
	<-heard
	touched.silence() // so that the answer is at the proxy
	p.Set(netproxy.Rules{})
	touched.isGone()
	idle.say("two")
	idle.hears("two")
	if got := p.Stats(); got.Lost != 1 || got.Held != 1 {
		t.Errorf("got %+v, want one piece held and one connection lost", got)
	}
}

func TestDelayIsAtLeastThatLong(t *testing.T) {
	t.Parallel()
	p, _ := started(t)
	c := dial(t, p)
	const delay = 30 * time.Millisecond
	p.Set(netproxy.Rules{Delay: delay})
	began := time.Now()
	c.say("one")
	c.hears("one")
	if took := time.Since(began); took < 2*delay {
		t.Errorf("got the answer after %v, want %v for each way", took, delay)
	}
}

// The last words of a side that closes in good order must arrive, or the proxy
// would be a fault of its own.
func TestLastWordsArrive(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := netproxy.Listen(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const size = 1 << 20
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Write(make([]byte, size))
		c.Close()
	}()
	c := dial(t, p)
	got, err := io.ReadAll(c)
	if len(got) != size || err != nil {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, size)
	}
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	t.Parallel()
	p, _ := started(t)
	c := dial(t, p)
	p.Set(netproxy.Rules{HoldRequests: true, HoldAnswers: true})
	c.say("one")
	c.silence()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	c.isGone()
}

// Two that put rules on one way do not take each other's away.
func TestRulesStandBesideEachOther(t *testing.T) {
	t.Parallel()
	p, heard := started(t)
	c := dial(t, p)
	slow := p.Add(netproxy.Rules{Delay: time.Millisecond})
	hold := p.Add(netproxy.Rules{HoldAnswers: true})
	c.say("a")
	<-heard
	slow()
	c.silence()
	hold()
	c.hears("a")

	lose := p.Add(netproxy.Rules{HoldAnswers: true, Lose: true})
	c.say("b")
	<-heard
	p.Add(netproxy.Rules{Delay: time.Millisecond})()
	c.silence()
	lose()
	c.isGone()

	late := p.Add(netproxy.Rules{HoldRequests: true})
	p.Set(netproxy.Rules{})
	late()
	c = dial(t, p)
	c.say("c")
	c.hears("c")
}
