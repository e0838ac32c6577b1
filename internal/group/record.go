package group

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Version is the store's name of the present value of a key: a revision, an ETag. It is compared, and
// never read.
type Version string

// Value is a key with its value.
type Value struct {
	Key     string
	Version Version
	Data    []byte
}

// Answers of a store. Any other error leaves open whether it took effect.
var (
	ErrConflict = errors.New("the value is another one") // by now, or there is one, or there is none
	ErrNotFound = errors.New("there is no such key")
)

// Op is the kind of a request.
type Op uint8

// The operations of a store. Update and Delete take effect only on the version that they name.
const (
	Get Op = iota
	List
	Create
	Update
	Delete
)

// Request is an operation for the store. The caller answers each with one [Reply], at the latest after a
// while with an error of its own.
type Request struct {
	ID      uint64
	Op      Op
	Key     string // of List: what the keys begin with
	Version Version
	Data    []byte
}

// Reply is the store's answer to the request of this ID.
type Reply struct {
	ID     uint64
	Err    error   // nil, ErrConflict, ErrNotFound, or what leaves the outcome open
	Value  Value   // of Get; of Create and Update only its version
	Values []Value // of List, in the order of their keys
}

// Beginnings of keys.
const (
	memberPrefix = "member/"
	unitPrefix   = "unit/"
	statePrefix  = "state/"
)

// escape makes any text a part of a key. Every store takes letters, digits, hyphens, underscores and =.
func escape(s string) string {
	plain := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || !plain(byte(r)) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// unescape is the text that escape made a part of a key of.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '=' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// memberRecord is a lease. Each renewal has a number, so that the sender knows its own in the store.
type memberRecord struct {
	over   bool // for good
	away   bool // it is about to leave, and takes no unit
	number uint64
}

func (r memberRecord) append(to []byte) []byte {
	if r.over {
		return append(to, "m1 over"...)
	}
	word := memberLive
	if r.away {
		word = memberAway
	}
	return strconv.AppendUint(append(to, word...), r.number, 10)
}

// ErrRecord marks a record that is damaged.
var ErrRecord = errors.New("a record that cannot be read")

var (
	memberLive = []byte("m1 live ")
	memberAway = []byte("m1 away ")
	memberOver = []byte("m1 over")
)

func readMember(data []byte) (r memberRecord, err error) {
	number, live := bytes.CutPrefix(data, memberLive)
	if !live {
		number, r.away = bytes.CutPrefix(data, memberAway)
	}
	switch {
	case live || r.away:
		r.number, err = parseNumber(number)
	case bytes.Equal(data, memberOver):
		r.over = true
	default:
		err = ErrRecord
	}
	return r, err
}

// unitRecord says who owns a unit. Without an owner it is free, since an owner released it: for next, if
// that is named. Home is the member that had the unit before it left or died, until it has the unit again.
type unitRecord struct {
	term  uint64
	owner string // name of a member's life; "": none
	next  string
	home  string // escaped ID of a member; "": none
	born  string // a text that no other record of the unit has that was made where there was none; "": not known
	lost  uint64 // the term that ended a line of records begun after a loss: states below it lack what was before. 0: none
}

func (r unitRecord) append(to []byte) []byte {
	to = strconv.AppendUint(append(to, "u1 "...), r.term, 10)
	to = append(append(to, ' '), orDash(r.owner)...)
	to = append(append(to, ' '), orDash(r.next)...)
	if r.home == "" && r.born == "" && r.lost == 0 {
		return to
	}
	to = append(append(to, ' '), orDash(r.home)...)
	if r.born == "" && r.lost == 0 {
		return to
	}
	to = append(append(append(to, ' '), orDash(r.born)...), ' ')
	return strconv.AppendUint(to, r.lost, 10)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// unitText is a record of a unit, as it stands in the store. To look up a peer by it needs no text of its own.
type unitText struct {
	term, lost              uint64
	owner, next, home, born []byte // empty: none
}

var (
	unitForm = []byte("u1 ")
	nobody   = []byte("-")
)

func readUnit(data []byte) (r unitText, err error) {
	rest, ok := bytes.CutPrefix(data, unitForm)
	term, rest, ok2 := cutSpace(rest)
	owner, rest, ok3 := cutSpace(rest)
	next, home, named := cutSpace(rest)
	home, rest, lined := cutSpace(home)
	born, lost, ok4 := cutSpace(rest)
	if !ok || !ok2 || !ok3 || named && len(home) == 0 || lined && !ok4 {
		return r, ErrRecord
	}
	r.owner, r.next, r.home, r.born = noDash(owner), noDash(next), noDash(home), noDash(born)
	if r.term, err = parseNumber(term); err == nil && lined {
		r.lost, err = parseNumber(lost)
	}
	return r, err
}

func cutSpace(s []byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(s, ' '); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, nil, false
}

func noDash(s []byte) []byte {
	if bytes.Equal(s, nobody) {
		return nil
	}
	return s
}

// stateRecord holds the needs of a successor. The owner of one term numbers its writes.
type stateRecord struct {
	term    uint64
	number  uint64
	through uint64 // findings up to this number are in data, or were delivered
	data    []byte
}

// append writes the record. Its head never changes. The data behind it name the layout of the state.
// So an older member knows a later layout from damage.
func (r stateRecord) append(to []byte) []byte {
	to = fmt.Appendf(to, "s1 %d %d %d\n", r.term, r.number, r.through)
	return append(to, r.data...)
}

func readState(data []byte) (r stateRecord, err error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	parts := strings.Split(string(head), " ")
	if !ok || len(parts) != 4 || parts[0] != "s1" {
		return r, ErrRecord
	}
	for i, to := range []*uint64{&r.term, &r.number, &r.through} {
		n, err := parseNumber([]byte(parts[i+1]))
		if err != nil {
			return r, err
		}
		*to = n
	}
	r.data = rest
	return r, nil
}

func parseNumber(text []byte) (n uint64, err error) {
	if len(text) == 0 || len(text) > 19 {
		return 0, ErrRecord
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, ErrRecord
		}
		n = n*10 + uint64(c-'0')
	}
	return n, nil
}
