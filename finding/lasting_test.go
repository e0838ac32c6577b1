package finding

import (
	"math"
	"testing"
	"time"
)

func TestLasting(t *testing.T) {
	const s, min, h = time.Second, time.Minute, time.Hour
	for d, want := range map[time.Duration]string{
		0: "0 s", 100: "100 ns", 1500: "1.5 µs", 18_053_573: "18.1 ms", 825 * time.Millisecond: "825 ms", 999_960 * time.Microsecond: "1 s",
		4600 * time.Millisecond: "4.6 s", 59*s + 960*time.Millisecond: "1 min", 61_234 * time.Millisecond: "1 min 1 s", 185 * s: "3 min 5 s", h - 1: "1 h",
		150 * min: "2 h 30 min", 47 * h: "47 h", 48*h - 1: "2 d", 76*h + 29*min: "3 d 4 h", -20 * time.Millisecond: "−20 ms",
		math.MaxInt64: "106751 d 23 h", math.MinInt64: "−106751 d 23 h",
	} {
		if got := Lasting(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}
