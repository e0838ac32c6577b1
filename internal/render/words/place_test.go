package words

import "testing"

// Positions of run are bytes, and those of check are lines: people are told which.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		position string
		of       Numbers
		want     string
	}{
		{"file:/var/log/app.jsonl:1234", OfService, "file:/var/log/app.jsonl byte 1234"},
		{"file:a:b.jsonl:0", OfService, "file:a:b.jsonl byte 0"},
		{"stdin:7", OfService, "stdin line 7"},
		{"file:a.jsonl:7", Lines, "file:a.jsonl line 7"},
		{"stdin:7", Bytes, "stdin byte 7"},
		{"file:history.bincode:99", Bytes, "file:history.bincode byte 99"},
		{"kafka:orders/0/12", OfService, "kafka:orders/0/12"},
		{"nats:ORDERS/12", Lines, "nats:ORDERS/12"},
		{"probe:65", OfService, "probe:65"},
		{"file:", Lines, "file:"},
		{"file:a.jsonl", Lines, "file:a.jsonl"},
		{"file:a:", Lines, "file:a:"},
		{"12", Lines, "12"},
		{"", Lines, ""},
	} {
		if got := Place(c.position, c.of); got != c.want {
			t.Errorf("%s: %s, want %s", c.position, got, c.want)
		}
	}
}
