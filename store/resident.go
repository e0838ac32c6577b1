package store

import (
	"sync"
	"time"

	"github.com/isowatch/isowatch/internal/pulse"
)

const (
	// residentEvery is how often the memory of mapped files is looked at. Badger writes tables through
	// shared mappings, as fast as the disk takes them.
	residentEvery = 50 * time.Millisecond
	// residentRest is the longest time between two looks: while less than half of what may stay is there,
	// and where nothing that can go is left.
	residentRest = 20 * residentEvery
	// residentFaults in a row end it: an old kernel, or another system.
	residentFaults = 3
)

// Resident is the memory of mapped files in this process, bytes: tables and logs of stores, and the program itself. It
// is 0 where the system does not tell.
func Resident() int64 {
	n, err := residentFiles()
	if err != nil {
		return 0
	}
	return n
}

// resident is the latest look at the memory of mapped files. All stores of a process share it.
var resident = shared{read: residentFiles}

type shared struct {
	read func() (int64, error)

	mu    sync.Mutex
	at    time.Time
	bytes int64
	err   error
}

// files gives the bytes that were found less than residentEvery ago, or looks again.
func (x *shared) files() (int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.at) >= residentEvery {
		x.bytes, x.err = x.read()
		x.at = time.Now()
	}
	return x.bytes, x.err
}

// shedLoop bounds the pages of tables that are mapped into this process. Badger keeps every table mapped, and what
// it has written or read stays resident: on a machine with much memory all of it.
func (s *Store) shedLoop() {
	most, faults, pause := s.options.Resident, 0, residentEvery
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pulse.Next(pause)):
		}
		before, err := resident.files()
		now := before
		if err == nil && before > most {
			if err = shed(s.dir); err == nil {
				now, err = residentFiles()
			}
		}
		if faults++; err == nil {
			faults = 0
		} else if faults == residentFaults {
			s.log.Debug("store: pages of tables are left to the system", "err", err)
			return
		}
		pause = nextLook(pause, before, now, most)
	}
}

// nextLook is the time to the next look. A look found before bytes and left now bytes; most may stay.
func nextLook(pause time.Duration, before, now, most int64) time.Duration {
	if before <= most/2 || now > most {
		return min(2*pause, residentRest)
	}
	return residentEvery
}
