package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// schemes are the schemes of NATS servers' URLs.
var schemes = []string{"nats", "tls", "ws", "wss"}

// natsServer says what is wrong with a URL, or HOST:PORT. It never quotes it: there may
// be a password in it.
func natsServer(s string) error {
	if !strings.Contains(s, "://") {
		s = "nats://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("not a URL")
	case !slices.Contains(schemes, u.Scheme):
		return fmt.Errorf("scheme %q is not one of %s", u.Scheme, strings.Join(schemes, ", "))
	case u.Hostname() == "":
		return errors.New("no host")
	}
	return nil
}

// streamName says what is wrong with the name of a JetStream stream (NATS, ADR-6).
func streamName(s string) error {
	if strings.ContainsAny(s, " \t\r\n.*>/\\") {
		return fmt.Errorf("%q cannot be the name of a stream: it has a space, or one of . * > / \\", s)
	}
	return nil
}

// subject says what is wrong with a NATS subject with wildcards: tokens between dots,
// * is one of any text, > the rest.
func subject(s string) error {
	if strings.ContainsAny(s, " \t\r\n") {
		return fmt.Errorf("subject %q has a space", s)
	}
	tokens := strings.Split(s, ".")
	for i, t := range tokens {
		if t == "" {
			return fmt.Errorf("subject %q has an empty token", s)
		}
		if t == ">" && i < len(tokens)-1 {
			return fmt.Errorf("subject %q: > must be its last token", s)
		}
	}
	return nil
}

// subjectsOverlap says whether some subject matches both filters.
func subjectsOverlap(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		switch {
		case x[i] == ">" || y[i] == ">":
			return true
		case x[i] != y[i] && x[i] != "*" && y[i] != "*":
			return false
		}
	}
	return len(x) == len(y)
}

// kafkaBroker says what is wrong with HOST or HOST:PORT.
func kafkaBroker(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		if host, port = strings.Trim(s, "[]"), "1"; strings.Count(host, ":") == 1 {
			host = ""
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " ,/") {
		return fmt.Errorf("broker %q is not host:port", s)
	}
	return nil
}

const maxTopicName = 249

// isName says whether s has 1 to most of the characters: ASCII letters, digits and the characters in others. A regular expression with such a
// count takes 2 ms to compile, at each start.
func isName(s string, most int, others string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= most
}

// kafkaTopic says what is wrong with the name of a topic (Apache Kafka, Topic.validate).
func kafkaTopic(s string) error {
	if !isName(s, maxTopicName, "._-") || s == "." || s == ".." {
		return fmt.Errorf("%q cannot be the name of a topic: want up to 249 of a-z, A-Z, 0-9, dot, underscore, hyphen", s)
	}
	return nil
}

// tailPattern says what is wrong with a pattern of files. A file's own name may hold
// the characters of patterns, as long as it exists.
func tailPattern(s string) error {
	if s == "" {
		return errors.New("an empty file name")
	}
	if _, err := filepath.Match(s, ""); err != nil {
		if found, _ := filepath.Glob(escaped.Replace(s)); len(found) == 0 {
			return fmt.Errorf("%q is not a pattern: %w", s, err)
		}
	}
	return nil
}

var escaped = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)

// overlap says whether one of two patterns names all that the other one does, as far as
// their texts tell.
func overlap(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	if errA != nil || errB != nil {
		return false
	}
	if a == b {
		return true
	}
	all, _ := filepath.Match(a, b)
	any, _ := filepath.Match(b, a)
	return all || any
}
