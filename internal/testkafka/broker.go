package testkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Config of a broker.
type Config struct {
	Dir        string            // holds configuration, data and broker.log; kept by the caller
	Heap       string            // -Xmx; empty: 256m. 128m is enough for small tests
	Properties map[string]string // added to server.properties, or instead of a line of it
}

// Broker is a Kafka process. Its methods are for one goroutine.
type Broker struct {
	dir, java, libs, heap string
	ports                 ports
	process               *process // nil: not running
}

// clusterID is any 22 characters of base64.
const clusterID = "MkU3OEVBNTcwNTJENDM2Qk"

// startTimeout is generous: a first start took 3 s, and 19 s under load 11.
const startTimeout = 90 * time.Second

// Launch formats the data folder and starts a broker. It blocks until the
// broker serves, or returns an error with the end of its log.
func Launch(ctx context.Context, c Config) (*Broker, error) {
	b, err := prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := b.configure(c.Properties); err != nil {
		return nil, err
	}
	if err := b.format(ctx); err != nil {
		return nil, err
	}
	return b, b.Start(ctx)
}

// prepare finds what a broker needs: programs, ports, certificates.
func prepare(ctx context.Context, c Config) (*Broker, error) {
	java, err := tool("java")
	if err != nil {
		return nil, err
	}
	libs, err := jars(ctx)
	if err != nil {
		return nil, err
	}
	p, err := freePorts()
	if err != nil {
		return nil, err
	}
	b := &Broker{dir: c.Dir, java: java, libs: libs, heap: c.Heap, ports: p}
	if b.heap == "" {
		b.heap = "256m"
	}
	return b, writeCertificates(b.dir, time.Now())
}

func (b *Broker) configure(extra map[string]string) error {
	text, err := properties(b.dir, b.ports, extra)
	if err != nil {
		return err
	}
	return os.WriteFile(b.file("server.properties"), text, 0o644)
}

func (b *Broker) file(name string) string { return filepath.Join(b.dir, name) }

func (b *Broker) args(class string, rest ...string) []string {
	// The serial collector and the first compiler tier halve the start.
	return append([]string{
		"-Xmx" + b.heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", filepath.Join(b.libs, "*"), class,
	}, rest...)
}

// format prepares the data folder; SCRAM users can be made without a broker
// only here.
func (b *Broker) format(ctx context.Context) error {
	rest := []string{"format", "-t", clusterID, "-c", b.file("server.properties")}
	for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		rest = append(rest, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, User, Password))
	}
	out, err := exec.CommandContext(ctx, b.java, b.args("kafka.tools.StorageTool", rest...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kafka format: %w\n%s", err, tail(out))
	}
	return nil
}

// Start starts the broker, again on the same ports and data, and waits until
// it serves.
func (b *Broker) Start(ctx context.Context) error {
	if b.process != nil {
		return errors.New("kafka runs already")
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	out, err := os.OpenFile(b.file("broker.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(b.java, b.args("kafka.Kafka", b.file("server.properties"))...)
	cmd.Stdout, cmd.Stderr = out, out
	if b.process, err = startProcess(cmd); err != nil {
		return err
	}
	for {
		err := b.serves(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-b.process.done:
			b.process = nil
			return fmt.Errorf("kafka ended at once\n%s", b.logTail())
		case <-ctx.Done():
			b.Kill()
			return fmt.Errorf("kafka does not serve: %w\n%s", err, b.logTail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// logTail is the end of the log, behind its first errors: a broker that gives up logs much about its end.
func (b *Broker) logTail() []byte {
	out, err := os.ReadFile(b.file("broker.log"))
	if err != nil {
		return []byte(err.Error())
	}
	var errs []byte
	for line := range bytes.Lines(out) {
		if (bytes.Contains(line, []byte(" ERROR ")) || bytes.Contains(line, []byte("Exception"))) && len(errs) < 1<<10 {
			errs = append(errs, line...)
		}
	}
	return append(errs, tail(out)...)
}

// Kill ends the broker as kill -9 does, and waits until it is gone.
func (b *Broker) Kill() { b.end(syscall.SIGKILL) }

// Stop ends the broker in order, and waits until it is gone.
func (b *Broker) Stop() { b.end(syscall.SIGTERM) }

func (b *Broker) end(s syscall.Signal) {
	if b.process == nil {
		return
	}
	b.process.signal(s)
	<-b.process.done
	b.process = nil
}

// Addr is host:port of the listener without TLS and login.
func (b *Broker) Addr() string { return local(b.ports.Port) }

// SecureAddr is host:port of the listener with TLS and SASL.
func (b *Broker) SecureAddr() string { return local(b.ports.SecurePort) }

// CAFile is the certificate of the authority behind SecureAddr.
func (b *Broker) CAFile() string { return b.file("ca.pem") }

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
