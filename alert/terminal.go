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

// TextName is the name of a [Text].
const TextName = "text"

// Name is [TextName].
func (t *Text) Name() string { return TextName }

// Deliver writes the findings in one write, those that the expected level allows on one line each. The advice is told once for each anomaly of a source.
func (t *Text) Deliver(_ context.Context, findings []Delivery) error {
	var out []byte
	for i := range findings {
		f := &findings[i].Finding
		if verdict, _ := words.VerdictOf(f); verdict == words.Allowed {
			out = words.AppendLine(out, f, t.color)
			continue
		}
		out = words.Append(out, t.advised.Once(f), t.color)
	}
	_, err := t.w.Write(out)
	return err
}
