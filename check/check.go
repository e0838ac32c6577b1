package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/internal/whole"
)

// History judges the transactions of records, in any order; where sessions or times are
// given, the order of those counts. Positions in findings are "records:1" for the first of them.
//
// Seq, Start, End, StartTS, CommitTS, From and To count if they are not zero; one that is zero counts
// with its flag ([event.HasSeq] and so on).
//
// An error names a bad record or a wrong option. A record is bad without an id or a status, or
// with an operation that docs/format.md refuses. A fault of the database is not an error: it is
// in the result.
func History(records []event.Record, options ...Option) (*Result, error) {
	for i := range records {
		if err := values(&records[i]); err != nil {
			return nil, fmt.Errorf("check: records:%d: %w", i+1, err)
		}
	}
	result, err := judge("records", &recordReader{left: records}, options)
	if err != nil {
		return nil, err
	}
	if len(result.Bad) > 0 {
		return nil, fmt.Errorf("check: %s: %s", result.Bad[0].Position, result.Bad[0].Reason)
	}
	return result, nil
}

// Reader judges a history in any of the formats of docs/format.md: JSON lines of records, or
// the file of another checker. The content tells the format. A record that cannot be decoded is
// in [Result.Bad], and makes verdicts Unknown that it could have changed. An error says that in
// cannot be read, or holds no history.
func Reader(in io.Reader, options ...Option) (*Result, error) {
	return judge("reader", in, options)
}

// File judges the history in a file, or in a folder of one, as [Reader] does.
func File(name string, options ...Option) (*Result, error) {
	w, err := settings(options)
	if err != nil {
		return nil, err
	}
	return run(w, name)
}

// judge checks what in holds; positions in it begin with called.
func judge(called string, in io.Reader, options []Option) (*Result, error) {
	w, err := settings(options)
	if err != nil {
		return nil, err
	}
	w.Stdin, w.Called = in, called
	result, err := run(w, "-")
	if err == nil {
		result.report.File = called
	}
	return result, err
}

func run(w *whole.Whole, name string) (*Result, error) {
	var bad []BadRecord
	w.DeadLetter = func(position, reason string) { bad = append(bad, BadRecord{position, reason}) }
	r, err := w.CheckFile(name)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return resultOf(r, bad), nil
}

// settings are the settings of monitor check without flags, changed by the options.
func settings(options []Option) (*whole.Whole, error) {
	o := defaults()
	var faults []error
	for _, option := range options {
		if err := option(&o); err != nil {
			faults = append(faults, fmt.Errorf("check: %w", err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return o.whole()
}

// recordReader is records as JSON lines, one at a time.
type recordReader struct {
	left []event.Record
	line bytes.Buffer
}

// Read implements [io.Reader].
func (r *recordReader) Read(p []byte) (int, error) {
	for r.line.Len() == 0 {
		if len(r.left) == 0 {
			return 0, io.EOF
		}
		next := told(r.left[0])
		r.line.Write(append(event.AppendJSON(r.line.AvailableBuffer(), &next), '\n'))
		r.left = r.left[1:]
	}
	return r.line.Read(p)
}
