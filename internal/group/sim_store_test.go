package group

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"strings"
	"time"
)

// simStore is a store in virtual time. A read may be old: a list by listAge, and both lists and single values by more if the reader's follower lags.
type simStore struct {
	entries  map[string]*Value
	before   map[string]Value // of each, the one before
	revision uint64
	lists    map[string][]*Value // by prefix, sorted
	shown    map[string]*simList
	wrote    func(key string, data []byte)
	hidden   string // key that reads lack: a follower that does not have it yet
}

type simList struct {
	at     time.Duration
	dirty  bool
	values []Value
	before [][]Value // lists shown before, the latest last: for readers of a follower that lags
}

const (
	listAge  = 50 * time.Millisecond
	listsOld = 40 // a follower lags by up to so many lists: some seconds
)

func newSimStore() *simStore {
	return &simStore{entries: map[string]*Value{}, before: map[string]Value{}, lists: map[string][]*Value{}, shown: map[string]*simList{}, wrote: func(string, []byte) {}}
}

func prefixOf(key string) string { return key[:strings.IndexByte(key, '/')+1] }

func (s *simStore) do(now time.Duration, r Request, lag int) Reply {
	reply := Reply{ID: r.ID}
	have := s.entries[r.Key]
	switch r.Op {
	case List:
		reply.Values = s.list(now, r.Key, lag)
		return reply
	case Get:
		if have == nil {
			reply.Err = ErrNotFound
		} else if was := s.before[r.Key]; r.Key == s.hidden || lag > 0 && was.Version == "" {
			reply.Err = ErrNotFound // a follower that does not have it yet
		} else if lag > 0 {
			reply.Value = was
		} else {
			reply.Value = *have
		}
		return reply
	case Create:
		if have != nil {
			reply.Err = ErrConflict
			return reply
		}
		have = &Value{Key: r.Key}
		s.entries[r.Key] = have
		prefix := prefixOf(r.Key)
		at, _ := slices.BinarySearchFunc(s.lists[prefix], r.Key, func(v *Value, key string) int { return cmp.Compare(v.Key, key) })
		s.lists[prefix] = slices.Insert(s.lists[prefix], at, have)
	default:
		if have == nil || have.Version != r.Version {
			reply.Err = ErrConflict
			return reply
		}
		if r.Op == Delete {
			delete(s.entries, r.Key)
			prefix := prefixOf(r.Key)
			s.lists[prefix] = slices.DeleteFunc(s.lists[prefix], func(v *Value) bool { return v.Key == r.Key })
			s.dirty(r.Key)
			return reply
		}
	}
	s.revision++
	s.before[r.Key] = *have
	have.Version, have.Data = Version(strconv.FormatUint(s.revision, 10)), r.Data
	reply.Value = Value{Key: r.Key, Version: have.Version}
	s.dirty(r.Key)
	s.wrote(r.Key, r.Data)
	return reply
}

// lose removes all records whose keys begin with one of these.
func (s *simStore) lose(prefixes ...string) {
	for _, prefix := range prefixes {
		for _, v := range s.lists[prefix] {
			delete(s.entries, v.Key)
			delete(s.before, v.Key)
		}
		delete(s.lists, prefix)
		delete(s.shown, prefix)
	}
}

func (s *simStore) dirty(key string) {
	if l := s.shown[prefixOf(key)]; l != nil {
		l.dirty = true
	}
}

func (s *simStore) list(now time.Duration, prefix string, lag int) []Value {
	l := s.shown[prefix]
	if l == nil {
		l = &simList{dirty: true, at: -listAge}
		s.shown[prefix] = l
	}
	if l.dirty && now-l.at >= listAge {
		l.before = append(l.before, l.values)
		if len(l.before) > listsOld {
			l.before = l.before[1:]
		}
		l.values = make([]Value, 0, len(s.lists[prefix]))
		for _, v := range s.lists[prefix] {
			if v.Key != s.hidden {
				l.values = append(l.values, *v)
			}
		}
		l.at, l.dirty = now, false
	}
	if lag > 0 && len(l.before) > 0 {
		return l.before[max(len(l.before)-lag, 0)]
	}
	return l.values
}

// simEvent happens at an instant of virtual time.
type simEvent struct {
	at  time.Duration
	seq uint64
	do  func()
}

type simQueue []simEvent

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q simQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(x any)   { *q = append(*q, x.(simEvent)) }
func (q *simQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

var _ heap.Interface = (*simQueue)(nil)
