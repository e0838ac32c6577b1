package alert

import (
	"context"
	"io"
)

// JSONL writes findings for programs: one JSON object a line.
type JSONL struct{ w io.Writer }

// NewJSONL writes to w.
func NewJSONL(w io.Writer) *JSONL { return &JSONL{w} }

// Name is "jsonl".
func (j *JSONL) Name() string { return "jsonl" }

// Deliver writes the findings in one write.
func (j *JSONL) Deliver(_ context.Context, findings []Delivery) error {
	var out []byte
	for i := range findings {
		out = append(append(out, findings[i].JSON...), '\n')
	}
	_, err := j.w.Write(out)
	return err
}
