package finding

import (
	"math"
	"strconv"
	"time"
)

// Lasting is a stretch of time for people, in one form everywhere: 825 ms, 3 min 5 s, 3 d 4 h. Below a minute
// it has three digits that count.
func Lasting(d time.Duration) string {
	if d < 0 {
		return "−" + Lasting(-max(d, -math.MaxInt64))
	}
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	if short := d.Round(unit); short < time.Minute {
		return shortly(short)
	}
	for _, x := range []struct {
		least, large, small time.Duration
		names               [2]string
	}{
		{48 * time.Hour, 24 * time.Hour, time.Hour, [2]string{" d", " h"}},
		{time.Hour, time.Hour, time.Minute, [2]string{" h", " min"}},
		{0, time.Minute, time.Second, [2]string{" min", " s"}},
	} {
		r := d.Round(x.small)
		if r < x.least {
			continue
		}
		text := strconv.FormatInt(int64(r/x.large), 10) + x.names[0]
		if rest := r % x.large / x.small; rest > 0 {
			text += " " + strconv.FormatInt(int64(rest), 10) + x.names[1]
		}
		return text
	}
	return ""
}

// shortly is a stretch of time below a minute.
func shortly(d time.Duration) string {
	for _, u := range []struct {
		one  time.Duration
		name string
	}{{time.Second, " s"}, {time.Millisecond, " ms"}, {time.Microsecond, " µs"}} {
		if d >= u.one {
			return strconv.FormatFloat(float64(d)/float64(u.one), 'f', -1, 64) + u.name
		}
	}
	if d == 0 {
		return "0 s"
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}
