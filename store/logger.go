package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/dgraph-io/badger/v4/options"
)

// checksumOnRead has Badger check a table's block whenever it reads one from
// disk.
const checksumOnRead = options.OnBlockRead

// logger passes Badger's lines on. Its informational ones tell of routine
// compactions, several a second under load, so they are debug lines here.
type logger struct{ to *slog.Logger }

func (l logger) Errorf(format string, args ...any) {
	level := slog.LevelError
	if strings.HasPrefix(format, "Received err:") {
		level = slog.LevelDebug // Open returns it
	}
	l.to.Log(context.Background(), level, "badger: "+line(format, args))
}
func (l logger) Warningf(format string, args ...any) { l.to.Warn("badger: " + line(format, args)) }
func (l logger) Infof(format string, args ...any)    { l.to.Debug("badger: " + line(format, args)) }

// Debugf drops the line: Badger writes several for every commit.
func (l logger) Debugf(string, ...any) {}

func line(format string, args []any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}
