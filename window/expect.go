package window

import "github.com/isowatch/isowatch/internal/infer"

// Expected is how much of a whole history is to come.
type Expected struct{ Txns, Versions, Reads, Writes int }

// mostExpected bounds the room that is made ahead.
const mostExpected = 1 << 24

// Expect makes room for what is to come. It changes nothing else.
func (m *Machine) Expect(x Expected) {
	for _, n := range []*int{&x.Txns, &x.Versions, &x.Reads, &x.Writes} {
		*n = min(*n, mostExpected)
	}
	m.infer.Expect(infer.Expected{Txns: x.Txns, Versions: x.Versions, Writes: x.Writes, Readers: x.Reads})
	// A read depends on a writer, and mostly somebody overwrites what it saw.
	m.graph.Expect(x.Txns, 2*x.Reads+x.Txns)
}
