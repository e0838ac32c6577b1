package event

import "github.com/zeebo/xxh3"

// field is a field name that the format knows, at any level of a record.
type field uint8

const (
	fTxn field = iota
	fType
	fSource
	fEpoch
	fStatus
	fOps
	fSession
	fSeq
	fStart
	fEnd
	fStartTS
	fCommitTS
	fIsolation
	fStale
	fName
	fTraceID
	fLabels
	fIndex
	fOp
	fKey
	fValue
	fKind
	fFound
	fVersion
	fPrevVersion
	fExpected
	fSuccess
	fSeen
	fFrom
	fTo
	fDesc
	fLimit
	fResult
	fSpread
	fCount
	fText
	fSpecVersion // of a CloudEvent, as are the next two
	fData
	fDataBase64
	numFields
	noField = numFields // a name that the format does not know
)

// The usual names as little-endian words, as they stand in the record.
const (
	wordOp      = 'o' | 'p'<<8
	wordKey     = 'k' | 'e'<<8 | 'y'<<16
	wordTxn     = 't' | 'x'<<8 | 'n'<<16
	wordOps     = 'o' | 'p'<<8 | 's'<<16
	wordSeq     = 's' | 'e'<<8 | 'q'<<16
	wordEnd     = 'e' | 'n'<<8 | 'd'<<16
	wordValue   = 'v' | 'a'<<8 | 'l'<<16 | 'u'<<24 | 'e'<<32
	wordStart   = 's' | 't'<<8 | 'a'<<16 | 'r'<<24 | 't'<<32
	wordStatus  = 's' | 't'<<8 | 'a'<<16 | 't'<<24 | 'u'<<32 | 's'<<40
	wordSource  = 's' | 'o'<<8 | 'u'<<16 | 'r'<<24 | 'c'<<32 | 'e'<<40
	wordSession = 's' | 'e'<<8 | 's'<<16 | 's'<<24 | 'i'<<32 | 'o'<<40 | 'n'<<48
)

// usualFieldOf finds the field of a name of at most 7 bytes, given as a word. The low byte of
// rest is the byte that ended the name.
func usualFieldOf(word, rest uint64) field {
	if byte(rest) != '"' {
		return noField
	}
	switch word {
	case wordOp:
		return fOp
	case wordKey:
		return fKey
	case wordValue:
		return fValue
	case wordTxn:
		return fTxn
	case wordOps:
		return fOps
	case wordSeq:
		return fSeq
	case wordEnd:
		return fEnd
	case wordStart:
		return fStart
	case wordStatus:
		return fStatus
	case wordSource:
		return fSource
	case wordSession:
		return fSession
	}
	return noField
}

// fieldOf finds the field that name spells. Names are case-sensitive.
func fieldOf(name []byte) field {
	switch string(name) {
	case "op":
		return fOp
	case "key":
		return fKey
	case "value":
		return fValue
	case "txn":
		return fTxn
	case "ops":
		return fOps
	case "session":
		return fSession
	case "seq":
		return fSeq
	case "status":
		return fStatus
	case "start":
		return fStart
	case "end":
		return fEnd
	case "found":
		return fFound
	case "source":
		return fSource
	default:
		return rareFieldOf(name)
	}
}

func rareFieldOf(name []byte) field {
	switch string(name) {
	case "type":
		return fType
	case "epoch":
		return fEpoch
	case "start_ts":
		return fStartTS
	case "commit_ts":
		return fCommitTS
	case "isolation":
		return fIsolation
	case "stale":
		return fStale
	case "name":
		return fName
	case "trace_id":
		return fTraceID
	case "labels":
		return fLabels
	case "index":
		return fIndex
	case "kind":
		return fKind
	case "version":
		return fVersion
	case "prev_version":
		return fPrevVersion
	case "expected":
		return fExpected
	case "success":
		return fSuccess
	case "seen":
		return fSeen
	case "from":
		return fFrom
	case "to":
		return fTo
	case "desc":
		return fDesc
	case "limit":
		return fLimit
	case "result":
		return fResult
	case "spread":
		return fSpread
	case "count":
		return fCount
	case "text":
		return fText
	case "specversion":
		return fSpecVersion
	case "data":
		return fData
	case "data_base64":
		return fDataBase64
	default:
		return noField
	}
}

// nameSet finds names that occur twice in one object. Objects nest, so it is a stack: an
// object's names lie above the names of the objects around it. Up to fewNames it compares them
// one by one. A wider object moves to a map, so that a record of a million names costs no more
// than its length.
type nameSet struct {
	stack   []xxh3.Uint128
	wide    map[wideName]struct{}
	objects int // opened so far in the record
}

type wideName struct {
	object int // serial number within the record
	name   xxh3.Uint128
}

// openObject is an object whose fields are being read.
type openObject struct{ serial, base int }

const fewNames = 24

// open begins an object within the one opened last.
func (s *nameSet) open() openObject {
	s.objects++
	return openObject{serial: s.objects, base: len(s.stack)}
}

// close ends the object opened last.
func (s *nameSet) close(o openObject) { s.stack = s.stack[:o.base] }

// add reports whether name is new in o, the object opened last.
func (s *nameSet) add(name []byte, o openObject) bool {
	h := xxh3.Hash128(name)
	names := s.stack[o.base:]
	if len(names) < fewNames {
		for _, other := range names {
			if other == h {
				return false
			}
		}
	} else {
		if len(names) == fewNames {
			s.widen(o, names)
		}
		if _, twice := s.wide[wideName{o.serial, h}]; twice {
			return false
		}
		s.wide[wideName{o.serial, h}] = struct{}{}
	}
	s.stack = append(s.stack, h)
	return true
}

func (s *nameSet) widen(o openObject, names []xxh3.Uint128) {
	if s.wide == nil {
		s.wide = make(map[wideName]struct{}, 4*fewNames)
	}
	for _, h := range names {
		s.wide[wideName{o.serial, h}] = struct{}{}
	}
}

func (s *nameSet) reset() {
	s.stack, s.objects = s.stack[:0], 0
	if len(s.wide) > 0 {
		s.wide = nil // a map keeps its buckets; such records are rare
	}
}
