package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/isowatch/isowatch/internal/render/page"
)

// reportFile is the file of --report. Its ending says its form: .html for people, .json for programs. It is written whole, and
// takes its name at the end: whoever looks earlier sees the file that was there before.
type reportFile struct {
	path  string // "": none
	trace string // a link to a trace, with {trace_id} in it; "": none
}

func (r *reportFile) register(f *pflag.FlagSet) {
	f.StringVar(&r.path, "report", "", "file to write verdicts and findings to at the end: FILE.html, one page that needs no network, or FILE.json")
	f.Var(traceValue{&r.trace}, "trace-url", "URL of a trace, with {trace_id} in it: findings in FILE.html link to it")
}

func (r *reportFile) isHTML() bool { return filepath.Ext(r.path) == ".html" }

// prepare makes sure that the file can be made, so that one that cannot be is told before the work begins. From now on a reader
// that closes standard output does not end the process: the report is still wanted. closed is called then, unless it is nil.
func (r *reportFile) prepare(t *terminal, closed func()) error {
	if r.path == "" {
		return nil
	}
	if ext := filepath.Ext(r.path); ext != ".html" && ext != ".json" {
		return usagef("--report %q: want a name that ends with .html or .json", r.path)
	}
	if info, err := os.Stat(r.path); err == nil && info.IsDir() {
		return usageError{&os.PathError{Op: "open", Path: r.path, Err: syscall.EISDIR}}
	}
	x, err := r.create()
	if err != nil {
		return usageError{err}
	}
	if err := errors.Join(x.Close(), os.Remove(x.Name())); err != nil {
		return usageError{err}
	}
	outliveReader(t, closed)
	return nil
}

// create makes a file beside the report's, which will take its name.
func (r *reportFile) create() (*os.File, error) {
	at := r.target()
	x, err := os.CreateTemp(filepath.Dir(at), "."+filepath.Base(at)+".*")
	var fault *os.PathError
	if errors.As(err, &fault) {
		fault.Path = r.path // the user knows no other name
	}
	return x, err
}

// target is the file itself, where the path is a link to one.
func (r *reportFile) target() string {
	if at, err := filepath.EvalSymlinks(r.path); err == nil {
		return at
	}
	return r.path
}

// write writes value in the form of JSON, or what is on the page. Without a file it does nothing.
func (r *reportFile) write(value any, p func() *page.Report) error {
	if r.path == "" {
		return nil
	}
	var b bytes.Buffer
	if r.isHTML() {
		shown := p()
		shown.Trace = r.trace
		if err := page.WriteReport(&b, shown); err != nil {
			return err
		}
	} else {
		form := json.NewEncoder(&b)
		form.SetIndent("", "  ")
		if err := form.Encode(value); err != nil {
			return err
		}
	}
	if err := r.replace(b.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// replace puts text in the place of the report. A report that was there keeps its rights.
func (r *reportFile) replace(text []byte) error {
	x, err := r.create()
	if err != nil {
		return err
	}
	if info, err := os.Stat(r.path); err == nil {
		_ = x.Chmod(info.Mode().Perm()) // else it is for its owner
	}
	_, err = x.Write(text)
	if err = errors.Join(err, x.Close()); err == nil {
		err = os.Rename(x.Name(), r.target())
	}
	if err != nil {
		return errors.Join(err, os.Remove(x.Name()))
	}
	return nil
}

// outlivingReader is standard output. Text is lost once its reader has closed it. Safe for concurrent use.
type outlivingReader struct {
	mu     sync.Mutex
	to     io.Writer
	closed func() // nil: nobody asks
	gone   bool
}

// outliveReader lets the process go on when the reader of its output has closed it.
func outliveReader(t *terminal, closed func()) {
	if isTerminal(t.stdout) {
		return
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write then fails, and does not end the process
	t.stdout = &outlivingReader{to: t.stdout, closed: closed}
}

// Write implements [io.Writer].
func (w *outlivingReader) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return len(p), nil
	}
	n, err := w.to.Write(p)
	if !errors.Is(err, syscall.EPIPE) {
		return n, err
	}
	w.gone = true
	if w.closed != nil {
		w.closed()
	}
	return len(p), nil
}
