package s3

import (
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/isowatch/isowatch/internal/group/store"
	"github.com/isowatch/isowatch/internal/group/storetest"
)

func TestConforms(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	lookup := func(name string) (string, bool) {
		switch name {
		case "AWS_ENDPOINT_URL":
			return server.URL, true
		case "AWS_REGION":
			return "eu-central-1", true
		}
		return "", false
	}
	storetest.Conform(t, func(t *testing.T) store.Store {
		s, err := Open(t.Context(), &url.URL{Scheme: "s3", Host: "bucket", Path: "/some/group"}, lookup)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	if _, err := Open(t.Context(), &url.URL{Scheme: "s3", Host: "none"}, lookup); err == nil {
		t.Error("a bucket that is not there is accepted")
	}
}

func TestURL(t *testing.T) {
	for _, text := range []string{"s3:///x", "s3://bucket/x?y=1", "s3://user@bucket/x"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), u, func(string) (string, bool) { return "", false }); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
