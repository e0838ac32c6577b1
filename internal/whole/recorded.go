package whole

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// Recording is a recorded history, open for reading.
type Recording struct {
	Name    string
	Format  history.Format
	file    io.Reader // nil for a folder
	opened  *os.File  // what file reads, unless it is standard input or was kept
	Size    int64     // of the file, 0 if it is not known
	done    int64     // bytes that were worked on since it was opened or put back
	dir     fs.FS
	closing func() error
	Tell    func(bytes int)        // unless nil, is told of what is read, unpacked
	lines   func(m ingest.Message) // unless nil, gets each message in this format
}

// OpenRecording opens the file or folder, or standard input for the name "-".
// Without a format it is recognised.
func OpenRecording(name string, standard io.Reader, format history.Format) (*Recording, error) {
	if name == "-" {
		r := &Recording{Name: name, Format: format, closing: func() error { return nil }}
		return r, r.recognise(standard)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &Recording{Name: name, Format: format, closing: f.Close}
	if info, e := f.Stat(); e == nil && info.IsDir() {
		r.dir = os.DirFS(name)
		err = r.recogniseFolder()
	} else {
		if r.opened = f; e == nil && info.Mode().IsRegular() {
			r.Size = info.Size()
		}
		err = r.recognise(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// Share is how much of the recording is read, from 0 to 1; 0 where its size is not known.
func (r *Recording) Share() float64 {
	if r.Size == 0 {
		return 0
	}
	return min(float64(r.done)/float64(r.Size), 1)
}

// Close closes what was opened.
func (r *Recording) Close() error { return r.closing() }

// recognise makes the content of in, unpacked and without a mark at its beginning,
// what is read.
func (r *Recording) recognise(in io.Reader) error {
	head, packed, err := lines.Unpack(in)
	if err != nil {
		return err
	}
	if r.file = head; packed {
		r.Size = 0
	}
	text, err := head.Peek(history.HeadBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if r.Format == "" {
		r.Format = history.Detect(text)
	}
	if r.Format != history.DBCop && bytes.HasPrefix(text, []byte(lines.Mark)) {
		_, err = head.Discard(len(lines.Mark))
	} else {
		err = nil
	}
	return err
}

func (r *Recording) recogniseFolder() (err error) {
	if r.Format == "" {
		r.Format, err = history.DetectDir(r.dir)
	} else if !r.Format.IsFolder() {
		err = fmt.Errorf("is a folder, and %s is a file", r.Format)
	}
	return err
}

// mostKept is how many bytes of an input are kept in memory to be read twice: 1 GiB.
const mostKept = 1 << 30

// keep makes sure that the recording can be read twice, and says whether it can. An input that
// cannot be put back to its beginning is read into memory, and can be read again then. One that is
// longer than mostKept is not kept: what is read of it comes first again, and then the rest.
func (r *Recording) keep() (kept, again bool, err error) {
	if r.dir != nil || r.opened != nil && r.rewind() == nil {
		return true, false, nil
	}
	data, err := io.ReadAll(&counted{io.LimitReader(r.file, mostKept), new(int64), r.Tell})
	if len(data) == mostKept {
		r.opened, r.file = nil, io.MultiReader(bytes.NewReader(data), r.file)
		return false, true, err
	}
	r.opened, r.file, r.Size = nil, bytes.NewReader(data), int64(len(data))
	return true, true, err
}

// rewind puts the recording back to its beginning.
func (r *Recording) rewind() error {
	r.done = 0
	if r.dir != nil {
		return nil
	}
	if again, kept := r.file.(*bytes.Reader); kept {
		_, err := again.Seek(0, io.SeekStart)
		return err
	}
	_, err := r.opened.Seek(0, io.SeekStart)
	if err == nil {
		err = r.recognise(r.opened)
	}
	return err
}

// Read appends what the recording holds to b, whose last partition is its name.
// flush is called where the batch holds a step, and empties it; what comes last is
// left in the batch.
func (r *Recording) Read(d *event.Decoder, b *event.Batch, flush func(contract string) error) error {
	return r.read(d, b, false, flush)
}

// read is Read. If stream is true, it does not hold the history in memory. It then fails with
// [history.ErrWhole] where the rest of the file can change what a line means.
func (r *Recording) read(d *event.Decoder, b *event.Batch, stream bool, flush func(contract string) error) error {
	partition := uint32(len(b.Partitions) - 1)
	file := &counted{r.file, &r.done, r.Tell}
	if r.Format == history.JSONL || r.Format == history.Proto {
		var s Recognizer
		err := eachMessage(file, true, func(m ingest.Message) error {
			if r.lines != nil {
				r.lines(m)
			}
			s.Decode(d, b, event.Position{Partition: partition, Offset: m.Offset}, m.Value)
			if len(b.Data) < StepBytes {
				return nil
			}
			return flush("")
		})
		if err != nil {
			return err
		}
		return s.Fault()
	}
	reader := history.Reader{Batch: b, Decoder: d, Size: r.Size, Stream: stream}
	if r.Format == history.EDN || r.Format == history.ElleJSON {
		// The reader tells how much is worked on.
		file.n, file.tell, reader.Used = new(int64), nil, r.used
	}
	reader.Flush = func() error { return flush(reader.Contract) }
	var err error
	if r.dir != nil {
		err = reader.ReadDir(r.Format, r.dir)
	} else {
		err = reader.Read(r.Format, file)
	}
	if err != nil {
		return err
	}
	return flush(reader.Contract)
}

// used notes how much more of the recording is worked on.
func (r *Recording) used(bytes int) {
	r.done += int64(bytes)
	if r.Tell != nil {
		r.Tell(bytes)
	}
}

// counted adds to n what is read.
type counted struct {
	io.Reader
	n    *int64
	tell func(bytes int)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += int64(n)
	if c.tell != nil {
		c.tell(n)
	}
	return n, err
}
