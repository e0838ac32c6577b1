package event

import "math/bits"

// ContentHash is over everything that makes two records with the same id the
// same record: status, session, times, operations. Position, name, trace id
// and labels are not part of it, since a repeated report may differ in them. It is the
// same in every process.
func ContentHash(b *Batch, t *Txn) uint64 {
	h := fold(t.IDHash.Lo, t.IDHash.Hi)
	h = fold(h^t.SessionHash.Lo, t.SessionHash.Hi)
	source, epoch, isolation := hashBytes(b.Bytes(t.Source)), Hash{}, Hash{}
	if t.Epoch.Len > 0 {
		epoch = hashBytes(b.Bytes(t.Epoch))
	}
	if t.Isolation.Len > 0 {
		isolation = hashBytes(b.Bytes(t.Isolation))
	}
	h = fold(h^source.Lo, epoch.Lo)
	h = fold(h^isolation.Lo, uint64(t.Status)|uint64(t.Flags)<<8|uint64(t.NumOps)<<16)
	h = fold(h^uint64(t.Start), uint64(t.End))
	h = fold(h^uint64(t.StartTS), uint64(t.CommitTS))
	h = fold(h, uint64(t.Seq))
	ops := b.OpsOf(t)
	for i := range ops {
		o := &ops[i]
		h = fold(h^o.KeyHash.Lo, o.KeyHash.Hi^uint64(o.Kind)<<16^uint64(o.Data)<<8^uint64(o.Flags&^(ShortValue|ShortKey)))
		h = fold(h^o.ValueHash.Lo, o.ValueHash.Hi)
		if o.Flags&HasExtra != 0 {
			h = foldExtra(h, b, &b.Extras[o.Extra])
		}
	}
	return h
}

func foldExtra(h uint64, b *Batch, x *Extra) uint64 {
	for i, s := range [...]Span{x.Version, x.PrevVersion, x.Expected, x.Seen, x.From, x.To} {
		text := hashBytes(b.Bytes(s))
		h = fold(h^text.Lo, text.Hi^uint64(i))
	}
	bounds := uint64(x.NumRows) << 3
	for i, set := range [...]bool{x.Desc, x.HasFrom, x.HasTo} {
		if set {
			bounds |= 1 << i
		}
	}
	h = fold(h^uint64(x.Limit), bounds)
	for _, r := range b.Rows[x.FirstRow : x.FirstRow+x.NumRows] {
		h = fold(h^r.KeyHash.Lo, r.ValueHash.Lo)
		if r.Version.Len > 0 {
			version := hashBytes(b.Bytes(r.Version))
			h = fold(h^version.Lo, version.Hi)
		}
	}
	return h
}

// fold mixes two words into one by a 128-bit product, as wyhash does. The constants, two of
// wyhash's own, keep a zero word from absorbing the other.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}
