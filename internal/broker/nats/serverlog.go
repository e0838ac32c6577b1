package nats

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// serverLog takes the log of an embedded server. The server's notices (some twenty at each
// start) are debug messages to us. A fatal message, after which a separate server would exit,
// is kept for the caller of StartEmbedded.
type serverLog struct {
	to *slog.Logger

	mu     sync.Mutex
	reason string // of the first fatal message
}

func newServerLog(to *slog.Logger) *serverLog {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &serverLog{to: to.With("component", "nats-server")}
}

func (l *serverLog) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason
}

func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason == "" {
		l.reason = fmt.Sprintf(format, v...)
	}
}

// Warnf passes warnings on, except the one on maxPayload, which is wanted.
func (l *serverLog) Warnf(format string, v ...any) {
	level := slog.LevelWarn
	if strings.HasPrefix(format, "Maximum payloads over") {
		level = slog.LevelDebug
	}
	l.to.Log(context.Background(), level, fmt.Sprintf(format, v...))
}

func (l *serverLog) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Errorf(format string, v ...any)  { l.to.Error(fmt.Sprintf(format, v...)) }
func (l *serverLog) Debugf(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
func (l *serverLog) Tracef(format string, v ...any)  { l.to.Debug(fmt.Sprintf(format, v...)) }
