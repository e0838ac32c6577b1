package store

import "time"

// residentEvery is how often the memory of mapped files is looked at. Badger writes tables through shared
// mappings, as fast as the disk takes them.
const residentEvery = 50 * time.Millisecond

// Resident is the memory of mapped files in this process, bytes: tables and logs of stores, and the program itself. It
// is 0 where the system does not tell.
func Resident() int64 {
	n, err := residentFiles()
	if err != nil {
		return 0
	}
	return n
}

// shedLoop bounds the pages of tables that are mapped into this process. Badger keeps every table mapped, and what
// it has written or read stays resident: on a machine with much memory all of it.
func (s *Store) shedLoop() {
	tick := time.NewTicker(residentEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			now, err := residentFiles()
			if err == nil && now > s.options.Resident {
				err = shed(s.dir)
			}
			if err != nil { // an old kernel, or another system
				s.log.Debug("store: pages of tables are left to the system", "err", err)
				return
			}
		}
	}
}
