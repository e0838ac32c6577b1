package kafka

import (
	"testing"

	"github.com/isowatch/isowatch/ingest"
)

func TestIdentityRoundTrip(t *testing.T) {
	for _, i := range []identity{none(), {0, 0}, {1, 0xdeadbeef}, {1 << 40, ^uint64(0)}, identify(ingest.Message{Offset: 3, Value: []byte("x")})} {
		if got := parseIdentity(i.String()); got != i {
			t.Errorf("%+v came back as %+v from %q", i, got, i)
		}
	}
}

func TestIdentityOfOtherTexts(t *testing.T) {
	for _, s := range []string{"", "last=", "last=5", "last=5/", "last=/0", "last=-5/00", "last=5/xyz", "topic-id", "5/00", "last=5/00/7"} {
		if got := parseIdentity(s); got.known() {
			t.Errorf("%q was read as %+v", s, got)
		}
	}
}

func TestIdentityTellsValuesApart(t *testing.T) {
	a := identify(ingest.Message{Offset: 1, Value: []byte("a")})
	if a == identify(ingest.Message{Offset: 1, Value: []byte("b")}) || a == identify(ingest.Message{Offset: 2, Value: []byte("a")}) {
		t.Error("two records share an identity")
	}
}
