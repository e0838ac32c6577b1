package ledger

import "github.com/isowatch/isowatch/internal/flat"

// AppendState writes the table, in sections of this name.
func (x *Index) AppendState(dst *flat.Writer, name string) *flat.Writer {
	dst = flat.AppendValue(dst, name+".used", &x.Used)
	return flat.Append(dst, name+".slots", x.Slots)
}

// ReadState reads what AppendState wrote.
func (x *Index) ReadState(r *flat.Reader, name string) {
	flat.ReadValue(r, name+".used", &x.Used)
	flat.Read(r, name+".slots", &x.Slots)
	if len(x.Slots) == 0 {
		x.Slots = nil
	}
}

// AppendState writes the arena.
func (a *Arena) AppendState(dst *flat.Writer) *flat.Writer {
	dst = flat.AppendValue(dst, "cur", &a.cur)
	dst = flat.AppendValue(dst, "bytes", &a.bytes)
	dst = flat.Append(dst, "live", a.live)
	dst = flat.Append(dst, "used", a.used)
	dst = flat.Append(dst, "free", a.free)
	for _, c := range a.chunks {
		dst = flat.Append(dst, "chunk", c)
	}
	return dst
}

// ReadState reads what AppendState wrote.
func (a *Arena) ReadState(r *flat.Reader) {
	flat.ReadValue(r, "cur", &a.cur)
	flat.ReadValue(r, "bytes", &a.bytes)
	flat.Read(r, "live", &a.live)
	flat.Read(r, "used", &a.used)
	flat.Read(r, "free", &a.free)
	a.InUse = 0
	for _, n := range a.used {
		a.InUse += int64(n)
	}
	if r.Err == nil && len(a.used) != len(a.live) {
		r.Err = flat.ErrShort
	}
	a.chunks = make([][]byte, len(a.live))
	for i := range a.chunks {
		var c []byte
		flat.Read(r, "chunk", &c)
		if i > 0 && r.Err == nil {
			room := chunkBytes
			if len(a.chunks) == 2 {
				room = firstBytes
			}
			c = append(make([]byte, 0, max(len(c), room)), c...)
		}
		a.chunks[i] = c
	}
	for _, f := range a.free {
		if int(f) < len(a.chunks) && cap(a.chunks[f]) > chunkBytes {
			a.chunks[f] = nil
		}
	}
}

// filterHead is a filter without its hashes.
type filterHead struct {
	panes, used int64 // used: of the front
	forgot      bool
}

// AppendState writes the filter.
func (f *Filter) AppendState(dst *flat.Writer) *flat.Writer {
	dst = flat.AppendValue(dst, "filter", &filterHead{panes: int64(len(f.panes)), used: int64(f.front.used), forgot: f.Forgot})
	dst = flat.Append(dst, "slots", f.front.slots)
	for i := range f.panes {
		used := int64(f.panes[i].used)
		dst = flat.AppendValue(dst, "used", &used)
		dst = flat.Append(dst, "slots", f.panes[i].slots)
	}
	return dst
}

// ReadState reads what AppendState wrote.
func (f *Filter) ReadState(r *flat.Reader) {
	var head filterHead
	flat.ReadValue(r, "filter", &head)
	f.Forgot, f.panes = head.forgot, nil
	f.front = hashSet{used: int(head.used)}
	flat.Read(r, "slots", &f.front.slots)
	if len(f.front.slots) == 0 {
		f.front.slots = nil
	} else if len(f.front.slots) != FrontSlots && r.Err == nil {
		r.Err = flat.ErrShort
	}
	for range min(head.panes, filterPanes) {
		var used int64
		var p hashSet
		flat.ReadValue(r, "used", &used)
		flat.Read(r, "slots", &p.slots)
		if p.used = int(used); r.Err == nil && len(p.slots) == 0 {
			r.Err = flat.ErrShort
		}
		f.panes = append(f.panes, p)
	}
}
