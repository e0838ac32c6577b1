package finding

// Label is a set of dependency labels.
type Label uint8

const (
	WW Label = 1 << iota
	WR
	RW
	Process  // session order
	Realtime // the one ended before the other began; no stored edge carries it
)

// Saturated is a label of edges that package saturation derives: of two writers of a
// key, a level lets the one come first only.
const Saturated Label = 1 << 5

// Reread is the label of a second read: a transaction saw a version when it had seen another
// one of the key before. The edge is a WR. Levels below read atomic allow it, and the others do
// not need it.
const Reread Label = 1 << 6

// OtherRow is the label of two transactions that wrote, or may have written, two rows of a key.
// The edge is a WW. Snapshot isolation asks for the order of their commits, and allows that
// they overlap.
const OtherRow Label = 1 << 7

// String is the label as an edge of a finding prints it.
func (l Label) String() string {
	switch {
	case l&(WR|Reread) != 0 && l&WW == 0:
		return "wr"
	case l&(WW|Saturated|OtherRow) != 0:
		return "ww"
	case l&RW != 0:
		return "rw"
	case l&Process != 0:
		return "process"
	case l&Realtime != 0:
		return "realtime"
	}
	return "none"
}
