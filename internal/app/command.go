package app

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/isolation"
	"github.com/isowatch/isowatch/window"
)

// replayCommand begins the command that a horizon finding names: the inputs, and
// the settings that decide what is found where they are not the defaults. Whoever
// runs it adds the login: findings go to sinks and pages, and name no user, password
// or file of credentials. "" where the input cannot be read again.
func (a *App) replayCommand() string {
	c := &a.config
	if c.Stdin {
		return ""
	}
	var flags []string
	list := func(name string, values []string) {
		if len(values) > 0 {
			flags = append(flags, name, strings.Join(values, ","))
		}
	}
	if a.embedded != nil {
		flags = append(flags, "--nats", a.embedded.URL(), "--stream", config.DefaultStream)
	}
	if n := c.NATS; n != nil {
		var urls []string
		for _, u := range n.URLs {
			urls = append(urls, withoutLogin(u))
		}
		list("--nats", urls)
		flags = append(flags, "--stream", n.Stream)
		list("--subjects", n.Subjects)
		if n.CAFile != "" {
			flags = append(flags, "--nats-ca-file", absolute(n.CAFile))
		}
	}
	if k := c.Kafka; k != nil {
		list("--kafka", k.Brokers)
		list("--topic", k.Topics)
		if k.TLS {
			flags = append(flags, "--kafka-tls")
		}
		if k.CAFile != "" {
			flags = append(flags, "--kafka-ca-file", absolute(k.CAFile))
		}
	}
	for _, glob := range c.Tail {
		flags = append(flags, fileFlag(glob)...)
	}
	return replayCommand(&c.Watch, flags)
}

// replayCommand names the input with flags, and what of w is not a default.
func replayCommand(w *config.Watch, flags []string) string {
	d := config.DefaultWatch(config.LiveContract())
	words := append([]string{"monitor", "replay"}, flags...)
	levels := slices.Clone(w.Levels)
	if !slices.Contains(levels, w.Expect) {
		levels = append(levels, w.Expect)
	}
	if !sameLevels(levels, d.Levels) {
		words = append(words, "--levels", strings.Join(isolation.LevelNames(levels), ","))
	}
	if w.Lateness != d.Lateness {
		words = append(words, "--lateness", w.Lateness.String())
	}
	if w.MaxTransaction != d.MaxTransaction {
		words = append(words, "--max-transaction", w.MaxTransaction.String())
	}
	if w.Contract != d.Contract {
		usual := strings.Split(d.Contract.String(), ",")
		items := slices.DeleteFunc(strings.Split(w.Contract.String(), ","), func(item string) bool { return slices.Contains(usual, item) })
		words = append(words, "--contract", strings.Join(items, ","))
	}
	for i := range words {
		words[i] = window.ShellQuote(words[i])
	}
	return strings.Join(words, " ")
}

func sameLevels(a, b []isolation.Level) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(l isolation.Level) bool { return !slices.Contains(b, l) })
}

// fileFlag names files from anywhere: the command may be run in another folder.
func fileFlag(glob string) []string { return []string{"--file", absolute(glob)} }

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// withoutLogin is a server's URL without user, password or token. What cannot be
// read as a URL is left out as a whole.
func withoutLogin(server string) string {
	bare := !strings.Contains(server, "://")
	if bare {
		server = "nats://" + server
	}
	u, err := url.Parse(server)
	if err != nil {
		return "URL"
	}
	text := u.Scheme + "://" + u.Host
	if bare {
		text = u.Host
	}
	return text
}
