package finding

// Raw is a record as it came in, before anything was decoded.
type Raw struct {
	Txn      string `json:"txn"`
	Position string `json:"position"`
	Text     string `json:"text,omitempty"`  // JSON, as it was written
	Bytes    []byte `json:"bytes,omitempty"` // Protocol Buffers, in base64
	Cut      int    `json:"cut,omitempty"`   // so many bytes follow, and are not kept
}

// Size is about what it takes, bytes.
func (r *Raw) Size() int { return len(r.Txn) + len(r.Position) + len(r.Text) + len(r.Bytes) }
