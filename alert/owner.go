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

// The headers in which posts and messages name the owner. Kafka has them in lower case.
const (
	HeaderMember = "Isowatch-Member"
	HeaderTerm   = "Isowatch-Term"
)

// Headers are the names and values by which posts and messages name the owner of ctx; nil: there is no group.
func Headers(ctx context.Context) map[string]string {
	o, ok := ctx.Value(ownerKey{}).(Owner)
	if !ok {
		return nil
	}
	return map[string]string{HeaderMember: o.Member, HeaderTerm: strconv.FormatUint(o.Term, 10)}
}

// setOwner sets the headers of a post.
func setOwner(ctx context.Context, h http.Header) {
	for name, value := range Headers(ctx) {
		h.Set(name, value)
	}
}
