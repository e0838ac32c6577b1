package alert

import (
	"context"
	"log/slog"
	"strings"

	"github.com/isowatch/isowatch/internal/render/words"
)

// Log writes findings as structured log lines: violations as warnings, the rest
// as information.
type Log struct{ to *slog.Logger }

// NewLog logs to to.
func NewLog(to *slog.Logger) *Log { return &Log{to} }

// Name is "log".
func (l *Log) Name() string { return "log" }

// Deliver writes a line a finding. It never fails: slog reports no error.
func (l *Log) Deliver(ctx context.Context, findings []Delivery) error {
	for i := range findings {
		f := &findings[i].Finding
		verdict, sentence := words.VerdictOf(f)
		level := slog.LevelInfo
		if verdict == words.Violated {
			level = slog.LevelWarn
		}
		about := []slog.Attr{
			slog.String("verdict", string(verdict)),
			slog.String("anomaly", f.Anomaly),
			slog.String("title", f.Title),
			slog.String("headline", f.Headline),
			slog.String("meaning", f.Meaning),
			slog.Any("causes", f.Causes),
			slog.Any("next", f.Next),
			slog.String("source", f.Source),
			slog.String("id", f.ID),
			slog.Int("revision", f.Revision),
			slog.String("state", string(f.State)),
			slog.Any("refutes", f.Refutes),
			slog.String("summary", strings.TrimSpace(sentence)),
			slog.Any("txns", f.Txns),
			slog.String("cycle", words.Cycle(f)),
			slog.String("proof", words.ShortProof(f, maxProof)),
		}
		if f.PageURL != "" {
			about = append(about, slog.String("page_url", f.PageURL))
		}
		l.to.LogAttrs(ctx, level, "finding", about...)
	}
	return nil
}
