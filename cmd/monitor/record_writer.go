package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/probe"
)

// recordWriter hands each record to the monitor, and to the history.
type recordWriter struct {
	stats probe.Stats

	mu      sync.Mutex
	monitor *io.PipeWriter
	file    *os.File
	history *bufio.Writer // nil: none
	again   *again        // nil: none
	line    []byte
	fault   error // the first of the history
}

// keep has the records written to a file as well.
func (w *recordWriter) keep(name string) (err error) {
	if w.file, err = os.Create(name); err != nil {
		return usageError{err}
	}
	w.history = bufio.NewWriter(w.file)
	return nil
}

// close ends the history.
func (w *recordWriter) close() error {
	if w.history == nil {
		return nil
	}
	return errors.Join(w.fault, w.history.Flush(), w.file.Close())
}

func (w *recordWriter) emit(r event.Record) {
	w.stats.Add(&r)
	w.write(func(dst []byte) []byte { return event.AppendJSON(dst, &r) })
}

func (w *recordWriter) mark(m event.Mark) {
	w.write(func(dst []byte) []byte { return event.AppendMark(dst, &m) })
}

func (w *recordWriter) write(form func([]byte) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line = append(form(w.line[:0]), '\n')
	if w.history != nil && w.fault == nil {
		_, w.fault = w.history.Write(w.line)
	}
	if w.again != nil {
		w.again.write(w.line)
	}
	_, _ = w.monitor.Write(w.line) // fails only when the monitor has ended, which tells why
}
