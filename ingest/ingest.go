// Package ingest is the way in: sources deliver messages in order per
// partition, with the cursor to resume from, into a bounded channel.
//
// A source keeps no position of its own. The reader commits a chunk's cursor together with the
// chunk's changes. So after a crash the source starts again exactly behind the committed part.
//
// The package is a part of the monitor. It promises nothing to importers: names and behaviour change
// without notice.
package ingest

import (
	"context"
	"errors"
)

// Message is one broker message, one line of a file or of standard input. It
// holds one record or several: lines of JSON, or Records of event/isowatch.proto.
type Message struct {
	Offset int64 // Kafka offset, NATS sequence, byte of the line's first character, or line number
	Time   int64 // the broker's own clock, ns since the Unix epoch; 0 where there is none to trust
	Value  []byte
}

// Cursor says where to go on reading a partition.
type Cursor struct {
	// Next is the first offset not yet delivered.
	Next int64 `json:"next"`
	// Identity tells a recreated stream, topic or file from the one that was read before. For
	// NATS it is the stream's creation time, and for Kafka the topic id where known. For files
	// it is device, inode and a fingerprint of the first bytes.
	Identity string `json:"identity,omitempty"`
}

// Gap is input known to be lost: it was not delivered, and cannot be.
type Gap struct {
	From, To int64  // offsets, To exclusive; equal when the extent is unknown
	Reason   string // with ", and may have been ..." if it is not known whether records of the input were lost
}

// Chunk is a run of messages of one partition.
type Chunk struct {
	Partition string // stable name: "kafka:TOPIC/PARTITION", "nats:STREAM", "file:PATH", "stdin"
	Source    string // of the records that name none; "": "default"
	Only      bool   // no record is of another source
	Messages  []Message
	Cursor    Cursor // behind the last message, and behind skipped control records
	Gaps      []Gap  // before the first message
	// CaughtUp: the reader stood at the partition's end when this was read. A reader that goes
	// on to stand there reports it again every 0.5 s. The judge of a partition's silence takes
	// a reader without a report for absent.
	CaughtUp bool
	// Behind is how many messages follow at the broker, as far as the reader knows; 0 for files.
	Behind  int64
	EOF     bool   // nothing will follow: the end of a finite input, or the partition is gone
	Problem string // not empty: the source has trouble (said once per change); "" with no messages: it recovered
}

// Bytes is the size of the messages.
func (c *Chunk) Bytes() (n int64) {
	for i := range c.Messages {
		n += int64(len(c.Messages[i].Value))
	}
	return n
}

// Source reads partitions until ctx ends or the input does.
type Source interface {
	// Run sends chunks to out, in order within each partition. It starts behind the given
	// cursors (by partition name; a partition without one starts at the beginning). A full
	// channel blocks it: that is the back-pressure. The bytes of a sent chunk belong to the
	// receiver. Run returns nil when the input ended or ctx was cancelled. It returns an error
	// only if no retry can mend it. It does not close out.
	Run(ctx context.Context, from map[string]Cursor, out chan<- Chunk) error
}

// Rereader is a source that gives single messages once more, for as long as its broker has them.
type Rereader interface {
	// Reread is the message at an offset of a partition. It asks the broker beside Run, and moves nothing. An error says that
	// the partition is another source's, that the broker has let the message go, or that it does not answer.
	Reread(ctx context.Context, partition string, offset int64) ([]byte, error)
}

// ErrNotHere: the source has no such message.
var ErrNotHere = errors.New("there is no such message")
