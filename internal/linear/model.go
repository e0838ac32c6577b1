package linear

import "strings"

// Kind is the kind of a step.
type Kind uint8

const (
	Read Kind = iota
	Write
	CAS
	Append
	ReadList
	WriteList
)

// Step is one operation on the object.
type Step struct {
	Kind     Kind
	Value    string // read, written, appended, or put by a cas
	Nothing  bool   // a read found nothing
	Expected string // cas
	// Success says that a cas took effect; Guess that nobody knows whether it did.
	Success, Guess bool
	Seen           string // by a cas that failed, if HasSeen
	HasSeen        bool
	List           []string // read, or written
}

// Op is the work of one client between call and return, as one unit.
type Op struct {
	Call, Return int64
	// Open: the client never got the answer. The step takes effect at some time after its
	// call, or never.
	Open  bool
	Steps []Step
}

// nothing is the state before the first write. Others begin with another byte: the
// value of a register, the elements of a list.
const (
	nothing  = ""
	register = "="
	list     = "["
	element  = "\xff" // no part of a UTF-8 text

	null = "null" // of a cas: that nothing was there
)

// apply gives the state behind op, and whether op's results fit the state.
func apply(state string, op *Op) (string, bool) {
	for i := range op.Steps {
		var ok bool
		if state, ok = op.Steps[i].apply(state); !ok {
			return state, false
		}
	}
	return state, true
}

func (s *Step) apply(state string) (string, bool) {
	switch s.Kind {
	case Write:
		return register + s.Value, true
	case Append:
		if state == nothing {
			state = list
		}
		return state + s.Value + element, state[:1] == list
	case Read:
		if s.Nothing {
			return state, state == nothing
		}
		return state, state == register+s.Value
	case ReadList:
		return state, state == nothing && len(s.List) == 0 || state == s.asList()
	case WriteList:
		return s.asList(), true
	}
	fits := state == valueOrNothing(s.Expected) || state == register+s.Expected
	switch {
	case s.Guess && fits, s.Success && fits:
		return register + s.Value, true
	case s.Guess:
		return state, true
	case s.Success || fits:
		return state, false
	}
	return state, !s.HasSeen || state == valueOrNothing(s.Seen) || state == register+s.Seen
}

// asList is the state of a list with s's elements.
func (s *Step) asList() string {
	return list + strings.Join(append(s.List[:len(s.List):len(s.List)], ""), element)
}
