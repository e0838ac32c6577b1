package alert

import (
	"context"
	"net/http"
	"strconv"
)

// Owner is the member of a group that delivers, and its term.
type Owner struct {
	Member string
	Term   uint64
}

type ownerKey struct{}

// WithOwner lets the posts of a delivery name who makes it.
func WithOwner(ctx context.Context, o Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, o)
}

// setOwner sets the headers of a post.
func setOwner(ctx context.Context, h http.Header) {
	if o, ok := ctx.Value(ownerKey{}).(Owner); ok {
		h.Set("Isowatch-Member", o.Member)
		h.Set("Isowatch-Term", strconv.FormatUint(o.Term, 10))
	}
}
