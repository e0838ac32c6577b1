package app

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// The rights that docs/scale.md names are enough for a group's store in NATS.
func TestRightsOfStore(t *testing.T) {
	rights := []string{"$KV.SHOP.>", "$O.SHOP_objects.>", "$JS.API.>", "$JS.FC.>"}
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(rights, "_INBOX.>") {
		if !strings.Contains(string(text), "`"+r+"`") {
			t.Errorf("docs/scale.md does not name %s", r)
		}
	}
	running, err := server.NewServer(&server.Options{Port: -1, Host: "127.0.0.1", JetStream: true, StoreDir: t.TempDir(), NoSigs: true, Users: []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Allow: rights}, Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	go running.Start()
	defer running.Shutdown()
	if !running.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	s, err := openGroupStore(t.Context(), "nats://u:p@"+running.Addr().String()+"/SHOP", nil, true, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v, err := s.Create(t.Context(), "a/b", []byte("1"))
	if err == nil {
		v, err = s.Update(t.Context(), "a/b", []byte("2"), v)
	}
	for name, step := range map[string]func() error{
		"get":    func() error { _, err := s.Get(t.Context(), "a/b"); return err },
		"list":   func() error { _, err := s.List(t.Context(), "a/"); return err },
		"object": func() error { return s.PutObject(t.Context(), "x", make([]byte, 3<<20)) },
	} {
		if stepErr := step(); err != nil || stepErr != nil {
			t.Fatalf("%s: %v, %v", name, err, stepErr)
		}
	}
	for name, step := range map[string]func() error{
		"read": func() error { _, err := s.GetObject(t.Context(), "x"); return err },
		"all":  func() error { _, err := s.ListObjects(t.Context(), "x"); return err },
	} {
		if err := step(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if err := s.DeleteObject(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), "a/b", v); err != nil {
		t.Error(err)
	}
}
