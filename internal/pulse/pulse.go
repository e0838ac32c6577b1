// Package pulse has what is done again and again wait for the same instants. A process with many such waits wakes up once
// for all of them. To wake up costs more than most of what is done then.
package pulse

import "time"

var began = time.Now()

// Next is the time to the next instant. From one to the next it takes every.
func Next(every time.Duration) time.Duration { return next(time.Since(began), every) }

func next(since, every time.Duration) time.Duration { return every - since%every }
