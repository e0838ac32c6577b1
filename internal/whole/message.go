package whole

import (
	"errors"
	"io"

	"github.com/isowatch/isowatch/ingest"
	"github.com/isowatch/isowatch/ingest/tail/lines"
)

// eachMessage gives the lines of in with their numbers from 1, or with the bytes at which they begin.
func eachMessage(in io.Reader, numbered bool, fn func(ingest.Message) error) error {
	const readSize = 64 << 10
	split := lines.Splitter{Max: lines.DefaultMax, Numbered: numbered}
	if numbered {
		split.Next = 1
	}
	give := func(messages []ingest.Message) error {
		for _, m := range messages {
			if err := fn(m); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		n, err := in.Read(split.Space(readSize))
		if e := give(split.Take(n)); e != nil {
			return e
		}
		if errors.Is(err, io.EOF) {
			return give(split.End())
		}
		if err != nil {
			return err
		}
	}
}
