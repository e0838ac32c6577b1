package store

import (
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Metrics are plain figures since Open, for the caller to publish.
type Metrics struct {
	TreeBytes     int64 // on disk, in blocks: sorted tables and the logs of memory tables
	ValueLogBytes int64 // on disk, in blocks

	Commits, Entries, Deletes, Bytes uint64 // of Commit

	LastCommit, MaxCommit time.Duration
	LastSync              time.Duration
	Syncs                 uint64

	Generation uint64 // of the current snapshot

	Tombstones, DeadBytes uint64 // removed since the last flatten
	Flattens              uint64
	UpkeepFailures        uint64
}

type counters struct {
	sync.Mutex
	m              Metrics
	upkeepFailures atomic.Uint64
}

func (c *counters) committed(entries []Entry, bytes int64, took time.Duration) {
	c.Lock()
	defer c.Unlock()
	c.m.Commits++
	c.m.Entries += uint64(len(entries))
	c.m.Bytes += uint64(bytes)
	for i := range entries {
		if entries[i].Delete {
			c.m.Deletes++
		}
	}
	c.m.LastCommit = took
	c.m.MaxCommit = max(c.m.MaxCommit, took)
}

func (c *counters) synced(took time.Duration) {
	c.Lock()
	defer c.Unlock()
	c.m.Syncs++
	c.m.LastSync = took
}

func (c *counters) flattened() {
	c.Lock()
	defer c.Unlock()
	c.m.Flattens++
}

// Memory is about the size of the tables in memory, bytes, by the logs that Badger keeps for them.
func (s *Store) Memory() int64 {
	logs, _ := filepath.Glob(filepath.Join(s.dir, "*.mem")) // fails for a bad pattern only
	return int64(len(logs)) * s.options.MemTable * 5 / 4
}

// Committed is how many bytes were committed since the store was opened.
func (s *Store) Committed() uint64 {
	s.counts.Lock()
	defer s.counts.Unlock()
	return s.counts.m.Bytes
}

// Metrics reads the figures. The sizes cost a walk over the folder.
func (s *Store) Metrics() Metrics {
	s.counts.Lock()
	m := s.counts.m
	s.counts.Unlock()
	m.UpkeepFailures = s.counts.upkeepFailures.Load()
	m.Generation = s.generation()
	s.debt.Lock()
	m.Tombstones, m.DeadBytes = s.debt.tombstones, s.debt.bytes
	s.debt.Unlock()
	m.TreeBytes, m.ValueLogBytes = folderSize(s.dir)
	return m
}

// folderSize counts blocks and not lengths: Badger's logs are sparse files of
// several times their content. A file that vanishes meanwhile counts nothing.
func folderSize(dir string) (tree, valueLog int64) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		switch filepath.Ext(path) {
		case ".sst", ".mem":
			tree += diskSize(info)
		case ".vlog":
			valueLog += diskSize(info)
		}
		return nil
	})
	return tree, valueLog
}
