package whole

import (
	"io"
	"slices"

	"github.com/isowatch/isowatch/event"
	"github.com/isowatch/isowatch/history"
)

// Convert reads one recorded history and writes it in another format.
type Convert struct {
	From, To history.Format // From "": it is recognised
	Stdin    io.Reader      // what the name "-" reads
	// BadRecord is told of every record that cannot be read, and is left out.
	BadRecord func(position, reason string)
	Tell      func(bytes int)    // unless nil, is told of what is read
	Doing     func(phase string) // unless nil, is told what is done now
}

// Converted says what a conversion read.
type Converted struct {
	Format       history.Format
	Transactions int
	Bad          int
	// Contract has the settings for --contract that the format of the file implies, and the
	// written form does not. "" : none.
	Contract string
}

// File converts the file called name.
func (c *Convert) File(name string, out io.Writer) (*Converted, error) {
	in, err := OpenRecording(name, c.Stdin, c.From)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	in.Tell = c.Tell
	answer := &Converted{Format: in.Format}
	var b event.Batch
	var decoder event.Decoder
	var assembler event.Assembler
	var records []event.Record
	b.Partitions = []string{PartitionOf(name)}
	take := func(contract string) error {
		answer.Contract = contract
		assembler.Add(&b)
		for i := range b.Bad {
			answer.Bad++
			c.BadRecord(b.Where(b.Bad[i].Pos), b.Bad[i].Reason)
		}
		for i := range b.Txns {
			records = append(records, b.Record(&b.Txns[i]))
		}
		answer.Transactions += len(b.Txns)
		names := slices.Clone(b.Partitions)
		b.Reset()
		b.Partitions = append(b.Partitions, names...)
		if c.To != history.JSONL {
			return nil // the others are written as a whole
		}
		err := history.Write(out, c.To, records)
		records = records[:0]
		return err
	}
	if err := in.Read(&decoder, &b, take); err != nil {
		return nil, err
	}
	if err := take(answer.Contract); err != nil {
		return nil, err
	}
	assembler.ExpireAll(&b, 0) // what never ended
	if err := take(answer.Contract); err != nil {
		return nil, err
	}
	if c.To != history.JSONL {
		if c.Doing != nil {
			c.Doing("writing")
		}
		err = history.Write(out, c.To, records)
	}
	return answer, err
}
