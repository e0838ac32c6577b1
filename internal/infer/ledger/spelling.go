package ledger

import "github.com/isowatch/isowatch/event"

// mostAsked is how many values of a key Spelling looks at.
const mostAsked = 64

// Spelling is a value that was written at the register of v, and for which same holds; "" if there is
// none in memory. It follows the chain of overwrites from the first version on. O(mostAsked records).
func (s *Ledger) Spelling(v uint32, in *event.Batch, same func(value string) bool) string {
	k := &s.Keys[s.Versions[v].Key]
	if k.Kind != event.Register {
		return ""
	}
	left, todo := mostAsked, []uint32{k.Initial}
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for id := s.Versions[u].Over; id != 0 && left > 0; id = s.Writes[id].NextOver {
			left--
			written := s.Writes[id].Version
			if text := s.Value(written, in); written != v && text != "" && same(text) {
				return text
			}
			todo = append(todo, written)
		}
	}
	return ""
}
