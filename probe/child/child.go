package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// Options of a command. Zero fields take the default named.
type Options struct {
	Prefix  string            // of every key; default none
	Timeout time.Duration     // of one answer; default 10 s
	Log     func(line string) // gets what children write on standard error; default: nobody does
}

const (
	// farewell is how long a child may take to end once its input has.
	farewell = time.Second
	// logLine is how much of a line on standard error is kept, in bytes.
	logLine = 1000
)

// Open is a database for which the shell command speaks. It starts nothing yet.
func Open(command string, o Options) *probe.Clients {
	return &probe.Clients{
		Prefix:  o.Prefix,
		Connect: func(context.Context) (probe.Client, error) { return start(command, o) },
	}
}

// child is one process.
type child struct {
	o       Options
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	answers chan []byte   // lines on standard output; closed at its end
	closed  chan struct{} // closed when nobody wants answers any more
	ended   chan struct{} // closed when the process is gone
	exit    error         // of the process, once ended is closed
	asked   int           // lines sent

	mu   sync.Mutex
	last string // line on standard error
}

func start(command string, o Options) (*child, error) {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	c := &child{o: o, cmd: exec.Command("sh", "-c", command), answers: make(chan []byte), closed: make(chan struct{}), ended: make(chan struct{})}
	ownGroup(c.cmd)
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the command cannot be started: %w", err)
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		c.log(stderr)
	}()
	go func() {
		c.read()
		stop := time.AfterFunc(farewell, func() { stderr.Close() }) // who inherited it may live on
		<-logged
		stop.Stop()
		c.exit = c.cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// read hands on the child's lines until there are no more.
func (c *child) read() {
	defer close(c.answers)
	lines := bufio.NewReader(c.out)
	for {
		line, err := readLine(lines)
		if err != nil {
			return
		}
		select {
		case c.answers <- line:
		case <-c.closed:
			return
		}
	}
}

var errLong = errors.New("a line that is too long")

// readLine reads a line of at most event.MaxRecord bytes, without its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > event.MaxRecord:
			return nil, errLong
		}
	}
}

// log passes on what the child writes on standard error.
func (c *child) log(stderr io.Reader) {
	lines := bufio.NewReaderSize(stderr, logLine)
	for {
		line, isPrefix, err := lines.ReadLine()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.last = strings.TrimSpace(string(line))
		c.mu.Unlock()
		if c.o.Log != nil {
			c.o.Log(string(line))
		}
		for isPrefix && err == nil { // the rest of a long line is dropped
			_, isPrefix, err = lines.ReadLine()
		}
	}
}

// Transact implements [probe.Client].
func (c *child) Transact(ctx context.Context, ops []event.RecordOp) ([]event.RecordOp, event.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	c.asked++
	select {
	case line, ok := <-c.answers:
		if ok {
			return nil, event.Aborted, fmt.Errorf("the child wrote a line before it was asked for answer %d: %s", c.asked, short(line))
		}
	default:
	}
	defer context.AfterFunc(ctx, func() { c.kill() })() // also frees a write that nobody reads
	if _, err := c.in.Write(request(ops)); err != nil {
		return nil, event.Unknown, c.gone(ctx)
	}
	select {
	case line, ok := <-c.answers:
		if !ok {
			return nil, event.Unknown, c.gone(ctx)
		}
		a, err := parse(line)
		if err != nil {
			return nil, event.Unknown, fmt.Errorf("the child's answer %d is %w: %s", c.asked, err, short(line))
		}
		return a.ops, a.status, a.err
	case <-ctx.Done():
		return nil, event.Unknown, c.gone(ctx)
	}
}

// gone says why no answer comes.
func (c *child) gone(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the child did not answer line %d within %v", c.asked, c.o.Timeout)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.kill()              // what closed its output may still run
	for range c.answers { // an unexpected line must not hold the reader
	}
	<-c.ended
	how := "exit status 0"
	if c.exit != nil {
		how = c.exit.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != "" {
		how += ": " + short([]byte(c.last))
	}
	if c.asked == 1 {
		return fmt.Errorf("the child ended before its first answer: %s", how)
	}
	return fmt.Errorf("the child ended before it answered line %d: %s", c.asked, how)
}

// short is a line in a sentence.
func short(line []byte) string {
	const most = 120
	if len(line) > most {
		return fmt.Sprintf("%q...", line[:most])
	}
	return fmt.Sprintf("%q", line)
}

// Close implements [probe.Client]: the end of its input tells the child to end, and after a
// second it is killed, with all that it has started.
func (c *child) Close() error {
	c.in.Close()
	close(c.closed)
	select {
	case <-c.ended:
		c.kill() // what it has started
	case <-time.After(farewell):
		c.kill()
		c.out.Close() // who inherited it may live on
		<-c.ended
	}
	return nil
}
