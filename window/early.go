package window

// Early says what is wrong with a time before the year 2000: start and end are nanoseconds. It is "" for any
// other time, and for the first second: clocks of simulations begin there.
func Early(ns int64) string {
	const second, year2000 = int64(1e9), int64(946_684_800e9)
	in := func(unit int64) bool { return ns*unit >= year2000 && ns*unit < 4*year2000 }
	switch {
	case ns < second || ns >= year2000:
		return ""
	case ns < 4*year2000/1e9 && in(1e9):
		return "start and end are before the year 2000: they look like seconds, and must be nanoseconds"
	case ns < 4*year2000/1e6 && in(1e6):
		return "start and end are before the year 2000: they look like milliseconds, and must be nanoseconds"
	case ns < 4*year2000/1e3 && in(1e3):
		return "start and end are before the year 2000: they look like microseconds, and must be nanoseconds"
	}
	return "start and end are before the year 2000: they must be nanoseconds since 1970"
}
