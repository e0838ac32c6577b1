package main

import (
	"testing"
	"time"

	"github.com/isowatch/isowatch/internal/app"
)

func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		p    app.Progress
		rate float64
		want string
	}{
		{app.Progress{Records: 12, Took: time.Second}, 12, "12 records, 12/s"},
		{app.Progress{Records: 1000, Share: 0.25, Took: 10 * time.Second}, 99.6, "1000 records, 100/s, 25%, about 30s left"},
		{app.Progress{Records: 4, Share: 1, Took: time.Second}, 4, "4 records, 4/s, 100%, about 0s left"},
	} {
		if got := progressText(c.p, c.rate); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
