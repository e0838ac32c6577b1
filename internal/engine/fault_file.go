package engine

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/isowatch/isowatch/event"
)

// The file of a fault holds the state of the source before the step, and the step. The state is its
// part of the snapshot, and the deltas behind that. The form is gzip, one JSON object a line. The file of the same fault has the
// same name, so a fault that comes again after a kill takes its place.

// FaultFile is the first line of a file that reproduces a fault.
type FaultFile struct {
	Format   string `json:"format"` // faultFormat
	Source   string `json:"source"`
	Position string `json:"position,omitempty"` // of the record that is to blame, where one is
	Fault    string `json:"fault"`
	Stack    string `json:"stack"`
	Index    int    `json:"index"` // of the source among all
	Tick     int64  `json:"tick"`
	// Snapshot, State and Lost come from the latest snapshot; there may be none.
	Snapshot *snapshotPiece `json:"snapshot,omitempty"`
	State    []byte         `json:"state,omitempty"`
	Lost     lost           `json:"lost"`
}

const (
	faultFormat = "isowatch fault 1"
	// mostFaultFiles bounds the files of a folder, since each may be as large as the state.
	mostFaultFiles = 20
)

// ErrFaultFile: the file holds no fault.
var ErrFaultFile = errors.New("not a file of a fault")

// writeFault writes the file of a fault and returns its path, "" where none is to be written.
func (e *Engine) writeFault(st *step, index int, where string, f *fault) (string, error) {
	if e.opt.Faults == "" {
		return "", nil
	}
	if err := os.MkdirAll(e.opt.Faults, 0o700); err != nil {
		return "", err
	}
	name := e.sources.list[index].name
	hash := sha256.Sum256([]byte(name + "\x00" + where + "\x00" + f.text))
	path := filepath.Join(e.opt.Faults, fmt.Sprintf("%x.fault", hash[:8]))
	if have, _ := filepath.Glob(filepath.Join(e.opt.Faults, "*.fault")); len(have) >= mostFaultFiles {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%d files are there already", len(have))
		}
	}
	if !e.opt.HasRoom(e.lastSnapshot.Load() + e.sinceSnapshot) {
		return "", ErrNoRoom
	}
	file, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	err = errors.Join(e.encodeFault(file, st, index, where, f), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(path+".tmp"))
	}
	return path, nil
}

func (e *Engine) encodeFault(to io.Writer, st *step, index int, where string, f *fault) error {
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return err
	}
	head := FaultFile{Format: faultFormat, Source: e.sources.list[index].name, Position: where, Fault: f.text, Stack: string(f.stack), Index: index, Tick: st.tick}
	meta, err := e.eachPiece(context.Background(), func(p *snapshotPiece, state []byte) error {
		if p.Source == head.Source {
			head.Snapshot, head.State = p, state
		}
		return nil
	})
	if err != nil {
		return err
	}
	head.Lost = meta.Lost
	out := json.NewEncoder(zip)
	if err := out.Encode(&head); err != nil {
		return err
	}
	head.State = nil
	if err := e.eachStep(spaceDelta, meta.Step+1, func(_ uint64, delta []byte) error { return out.Encode(delta) }); err != nil {
		return err
	}
	return errors.Join(out.Encode(appendDelta(nil, st)), zip.Close())
}

// Reproduce does again what the file of a fault holds. again is the fault that comes, "" if none does.
func Reproduce(path string, hook Hook) (head FaultFile, again string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return head, "", err
	}
	defer file.Close()
	zip, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return head, "", fmt.Errorf("%s: %w: %w", path, ErrFaultFile, err)
	}
	in := json.NewDecoder(zip)
	if err := in.Decode(&head); err != nil || head.Format != faultFormat {
		return head, "", fmt.Errorf("%s: %w", path, errors.Join(ErrFaultFile, err))
	}
	r := &restored{newSources(hook), head.Index, head.Source}
	r.lost = head.Lost
	if head.Snapshot != nil {
		if err := r.read(head.Snapshot, head.State); err != nil {
			return head, "", fmt.Errorf("%s: %w", path, err)
		}
		head.State = nil
	}
	var st step
	var d event.Decoder
	for {
		var delta []byte
		if err := in.Decode(&delta); errors.Is(err, io.EOF) {
			return head, "", nil
		} else if err != nil {
			return head, "", fmt.Errorf("%s: %w: %w", path, ErrFaultFile, err)
		}
		err := readDelta(&d, &st, delta)
		if err == nil {
			err = r.do(&st)
		}
		if f := asFault(err); f != nil {
			return head, f.text, nil
		}
		if err != nil {
			return head, "", fmt.Errorf("%s: %w", path, err)
		}
	}
}
