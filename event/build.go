package event

// Readers of other formats fill a Batch with these functions.

// HashText is the Hash of a key's text or of a value's canonical text.
func HashText(text []byte) Hash { return hashBytes(text) }

// AddText appends text to b.Data and names it.
func (b *Batch) AddText(text string) Span {
	off := len(b.Data)
	b.Data = append(b.Data, text...)
	return Span{uint32(off), uint32(len(text))}
}

// Plain says whether d leaves records as they are: it shortens no texts, and refuses none for its elements.
func (d *Decoder) Plain() bool { return d.Long == 0 && d.MaxElems == 0 }
