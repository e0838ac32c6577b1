package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/http/pprof"
	"strings"
)

// Guard says who may read. The zero Guard lets everybody in.
type Guard struct {
	// Certificate: only clients whose certificate the connection has verified, whatever
	// else they show.
	Certificate bool

	User     string // basic auth, with Password
	Password []byte
	Token    []byte // bearer token
}

// guarded lets requests through that show the password or the token; either will do
// where both are set. guard is asked each time: secrets change. Health is answered to
// all: a probe carries no secret and no certificate, and is told nothing.
func guarded(guard func() Guard, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/-/healthy" || r.URL.Path == "/-/ready" {
			next.ServeHTTP(w, r)
			return
		}
		switch g := guard(); {
		case g.Certificate && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0):
			plain(w, http.StatusForbidden, "a client certificate is needed")
		case !g.admits(r):
			if g.User != "" {
				w.Header().Add("WWW-Authenticate", `Basic realm="isowatch", charset="UTF-8"`)
			}
			if len(g.Token) > 0 {
				w.Header().Add("WWW-Authenticate", `Bearer realm="isowatch"`)
			}
			plain(w, http.StatusUnauthorized, "who are you?")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (g Guard) admits(r *http.Request) bool {
	if g.User == "" && len(g.Token) == 0 {
		return true
	}
	if user, password, ok := r.BasicAuth(); ok {
		right := same([]byte(user), []byte(g.User)) & same([]byte(password), g.Password)
		return g.User != "" && len(g.Password) > 0 && right == 1
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && len(g.Token) > 0 && same([]byte(strings.TrimSpace(token)), g.Token) == 1
}

// same is 1 for equal texts, in a time that tells nothing of either.
func same(a, b []byte) int {
	x, y := sha256.Sum256(a), sha256.Sum256(b)
	return subtle.ConstantTimeCompare(x[:], y[:])
}

// profiles are the handlers of net/http/pprof, which registers them for everybody
// unless they are taken one by one. The command line is left out: it may hold a secret.
func profiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}
