package nats

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	reconnectFirst = 50 * time.Millisecond
	reconnectMost  = 2 * time.Second
	// A peer that has vanished without closing is noticed after
	// pingInterval * (pingsLost + 1) = 30 s.
	pingInterval = 10 * time.Second
	pingsLost    = 2
)

// Connect returns a connection that keeps trying for ever: also the first
// attempt may fail, since a monitor often starts before its broker. An error
// means that the options are wrong, not that no server answers. It names no
// secret.
func Connect(o Options) (*nats.Conn, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	opts, err := o.credentials()
	if err != nil {
		return nil, err
	}
	if o.CAFile != "" {
		opts = append(opts, nats.RootCAs(o.CAFile))
	}
	if o.CertFile != "" {
		opts = append(opts, nats.ClientCert(o.CertFile, o.KeyFile))
	}
	opts = append(opts,
		nats.Name(o.Name),
		nats.SetCustomDialer(&calmDialer{net.Dialer{Timeout: nats.DefaultTimeout}}),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(pingsLost),
	)
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	opts = append(opts, logged(logger, o.Failed)...)
	if o.Inside != nil {
		opts = append(opts, nats.InProcessServer(calmServer{o.Inside.server}))
	}

	servers := nats.GetDefaultOptions()
	servers.Servers = o.URLs
	for _, opt := range opts {
		if err := opt(&servers); err != nil {
			return nil, fmt.Errorf("nats: %w", err)
		}
	}
	nc, err := servers.Connect()
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	return nc, nil
}

// reconnectDelay doubles from 50 ms to 2 s over the rounds through all servers.
func reconnectDelay(rounds int) time.Duration {
	return min(reconnectFirst<<min(max(rounds-1, 0), 10), reconnectMost)
}

// logged sends the connection's life to l. A lost connection is told once, and
// then each different reason for not getting it back.
func logged(l *slog.Logger, failed func(error)) []nats.Option {
	var reason string // used from the connection's callback goroutine only
	return []nats.Option{
		nats.ConnectHandler(func(nc *nats.Conn) {
			reason = ""
			l.Info("nats connected", "url", nc.ConnectedUrlRedacted())
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			reason = ""
			l.Info("nats reconnected", "url", nc.ConnectedUrlRedacted())
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				l.Warn("nats disconnected", "err", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil && failed != nil {
				failed(err)
			}
			if err != nil && err.Error() != reason {
				reason = err.Error()
				l.Warn("nats cannot connect yet; it keeps trying", "err", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			l.Warn("nats error", "subject", subject, "err", err)
		}),
		nats.ClosedHandler(func(nc *nats.Conn) {
			if err := nc.LastError(); err != nil {
				l.Info("nats closed", "last_err", err)
			}
		}),
	}
}
