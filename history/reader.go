package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/isowatch/isowatch/event"
)

// Reader fills a batch with the transactions of one history.
type Reader struct {
	// Batch is filled. Its last partition is the file, or the folder, read.
	Batch *event.Batch
	// Flush is called when the batch holds about a mebibyte, and must empty it and keep its
	// partitions. An error that it returns ends the reading. It is not called for the last
	// transactions.
	Flush func() error
	// Decoder, unless nil, is used for formats that are read by way of JSON. Its source is the
	// source of all transactions.
	Decoder *event.Decoder
	// Contract holds the reader's knowledge of the capture, as settings of the capture
	// contract. It is complete before the first Flush, or when reading ends.
	Contract string
	// Size is how many bytes the file has, 0 if that is not known.
	Size int64
	// Stream: transactions are given out as they are read, in the order of the file, and no
	// more than one is held. It holds for PolySI, AWDIT, and dbcop's binary form where Size is
	// known. Read fails with ErrWhole where what comes later in such a file can change what
	// came before. Flush is called more often.
	Stream bool

	// Used, unless nil, is told how much more of the file was worked on, in bytes. Only Elle's formats tell it.
	Used func(bytes int)

	// Came, unless nil, is told where a transaction is in the file, and its records there as they were written. These are an
	// invocation and a completion, or one of both, or one piece of the file. It is told again of a transaction that goes on
	// behind another one. A stream does not tell it. The records are valid during the call.
	Came func(id string, pos event.Position, records [][]byte)

	source event.Span // "default" in Batch.Data
	fresh  bool       // the batch has not been emptied since source was written
}

// flushBytes and flushOps make a batch full.
const (
	flushBytes = 1 << 20
	flushOps   = 1 << 16
	streamOps  = 1 << 13 // of a stream: less than a megabyte, which stays in a cache
)

// Read reads the file in. The error is a *Fault where the file does not fit the format.
// Transactions before it may be in the batch, or were flushed.
func (r *Reader) Read(f Format, in io.Reader) error {
	if r.streams(f) {
		return r.stream(f, in)
	}
	x := formOf(f)
	if x != nil && x.pieces != nil {
		return x.pieces(r, in)
	}
	data, err := r.all(in)
	if err != nil {
		return err
	}
	if x != nil && x.read != nil {
		return x.read(r, data)
	}
	return fmt.Errorf("format %s is not read from a file", f)
}

// all is the whole file.
func (r *Reader) all(in io.Reader) ([]byte, error) {
	if r.Size <= 0 || r.Size >= 1<<40 {
		return io.ReadAll(in)
	}
	var data bytes.Buffer
	data.Grow(int(r.Size) + bytes.MinRead) // it asks for so much room once more at the end
	_, err := data.ReadFrom(in)
	return data.Bytes(), err
}

// ReadDir reads the folder dir.
func (r *Reader) ReadDir(f Format, dir fs.FS) error {
	if x := formOf(f); x != nil && x.session != nil {
		return r.readFolder(dir, x.names, x.session)
	}
	return fmt.Errorf("format %s is a file, not a folder", f)
}

// readFolder reads every file of the folder whose name fits as a session.
func (r *Reader) readFolder(dir fs.FS, names nameForm, read func(p *plain, data []byte, session uint32) error) error {
	files, err := names.in(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no file is called %s", names)
	}
	b := r.Batch
	folder := ""
	if n := len(b.Partitions); n > 0 {
		folder = b.Partitions[n-1]
		b.Partitions = b.Partitions[:n-1]
	}
	p := plain{came: r.cameOf()}
	for _, f := range files {
		data, err := fs.ReadFile(dir, f.path)
		if err != nil {
			return err
		}
		p.partition = uint32(len(b.Partitions))
		b.Partitions = append(b.Partitions, folder+"/"+f.path)
		err = read(&p, data, p.session(f.number))
		var fault *Fault
		if errors.As(err, &fault) {
			fault.File = f.path
		}
		if err != nil {
			return err
		}
	}
	return r.readPlain(&p, nil)
}

// begin appends a transaction without operations.
func (r *Reader) begin(pos event.Position, status event.Status) *event.Txn {
	b := r.Batch
	if !r.fresh || len(b.Data) == 0 {
		source := event.DefaultSource
		if r.Decoder != nil && r.Decoder.Source != "" {
			source = r.Decoder.Source
		}
		r.source, r.fresh = b.AddText(source), true
	}
	b.Txns = append(b.Txns, event.Txn{
		Pos: pos, Status: status, Source: r.source, FirstOp: uint32(len(b.Ops)),
	})
	return &b.Txns[len(b.Txns)-1]
}

// full flushes the batch if it holds enough.
func (r *Reader) full() error {
	most := flushOps
	if r.Stream {
		most = streamOps
	}
	if len(r.Batch.Data) < flushBytes && len(r.Batch.Ops) < most {
		return nil
	}
	r.fresh = false
	return r.Flush()
}

// number appends n in decimal to the batch's texts.
func (r *Reader) number(n int64) event.Span {
	b := r.Batch
	off := len(b.Data)
	b.Data = strconv.AppendInt(b.Data, n, 10)
	return event.Span{Off: uint32(off), Len: uint32(len(b.Data) - off)}
}
