package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/config"
)

// Another member that answers at the address counts as not asked, and the log says once what to set.
func TestWhoAnswers(t *testing.T) {
	logged := &strings.Builder{}
	self := &Group{id: "a", log: slog.New(slog.NewTextHandler(logged, nil)), asks: http.DefaultClient}
	server := httptest.NewServer(self.named(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("[]")) })))
	defer server.Close()
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	failed := map[string]bool{}
	told := map[string]aboutMember{"a": {Pages: server.URL}, "b": {Pages: server.URL}, "c": {Pages: stranger.URL}}
	asker := &Group{id: "x", log: self.log, asks: http.DefaultClient}
	for range 2 {
		for _, id := range []string{"a", "b", "c"} {
			asker.askEach(t.Context(), told, []string{id}, "/", nil, func(member string, _ []byte, err error) { failed[member] = err != nil })
		}
	}
	if failed["a"] || !failed["b"] || !failed["c"] {
		t.Errorf("not asked: %v, want b and c", failed)
	}
	if text := logged.String(); strings.Count(text, "the member a answers: set --http or group.address of b") != 1 || strings.Count(text, "no member of a group answers") != 1 {
		t.Errorf("%s", text)
	}
	// The pages of a unit come from its owner, or not at all.
	answer := httptest.NewRecorder()
	asker.pass(answer, httptest.NewRequest(http.MethodGet, "/units/x/", nil), "b", server.URL)
	if answer.Code != http.StatusBadGateway {
		t.Errorf("%d: another member answers for b", answer.Code)
	}
	answer = httptest.NewRecorder()
	asker.pass(answer, httptest.NewRequest(http.MethodGet, "/units/x/", nil), "a", server.URL)
	if answer.Code != http.StatusOK {
		t.Errorf("%d: a does not answer", answer.Code)
	}
}

// A member with pages at a local address is told, unless the store is on this machine too.
func TestUnreachable(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000")
	for _, c := range []struct {
		address, state string
		told           bool
	}{
		{"http://127.0.0.1:8080", "nats://broker:4222/S", true}, {"http://[::1]:8080", "nats://127.0.0.1:4222,broker:4222/S", true},
		{"http://127.0.0.1:8080", "nats://localhost:4222/S", false}, {"http://127.0.0.1:8080", "file:///mnt/x", false},
		{"http://127.0.0.1:8080", "s3://bucket/x", false}, {"http://10.0.0.1:8080", "nats://broker:4222/S", false},
		{"https://a.example:8080", "nats://broker/S", false}, {"", "nats://broker/S", true},
	} {
		text := unreachable(c.address, &config.Service{Group: config.Group{State: c.state}})
		if (text != "") != c.told || c.told && !strings.Contains(text, "Set --http") {
			t.Errorf("%s with %s: %q", c.address, c.state, text)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	if unreachable("http://127.0.0.1:8080", &config.Service{Group: config.Group{State: "s3://bucket/x"}}) == "" {
		t.Error("a bucket of AWS is not on this machine")
	}
}

// A member that differs says in what.
func TestDifferences(t *testing.T) {
	s, other := config.DefaultService(), config.DefaultService()
	s.Group.Lease, other.Watch.KeyCap = s.Group.Lease/3, 5
	got := differences(s.Shared(), other.Shared(), "here", "in m1")
	if want := "key-cap: 1000000 here, 5 in m1; lease: 2s here, 6s in m1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if text := differences(s.Shared(), s.Shared(), "here", "in m1"); text != "" {
		t.Errorf("the same settings differ: %s", text)
	}
	other = config.DefaultService()
	other.Watch.Contract.ClockDrift = 7
	s = config.DefaultService()
	if text := differences(s.Shared(), other.Shared(), "here", "in m1"); !strings.Contains(text, "contract") {
		t.Errorf("contracts: %q", text)
	}
}
