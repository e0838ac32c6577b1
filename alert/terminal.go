package alert

import (
	"context"
	"io"

	"github.com/isowatch/isowatch/internal/render/words"
)

// Text writes findings for people on a terminal.
type Text struct {
	w       io.Writer
	color   bool
	advised words.Advised
}

// NewText writes to w, with ANSI colours if asked; words say what colours say.
func NewText(w io.Writer, color bool) *Text { return &Text{w: w, color: color} }

// Name is "text".
func (t *Text) Name() string { return "text" }

// Deliver writes the findings in one write. The advice is told once for each anomaly of a source.
func (t *Text) Deliver(_ context.Context, findings []Delivery) error {
	var out []byte
	for i := range findings {
		out = words.Append(out, t.advised.Once(&findings[i].Finding), t.color)
	}
	_, err := t.w.Write(out)
	return err
}
