package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Local answers requests whose Host is an address, localhost, or one of names, and 421 (RFC
// 9110, section 15.5.20) to others. It is for pages that are open to everybody on the machine.
// A web site that lets its own name point at 127.0.0.1 (DNS rebinding) would make its visitors'
// browsers read them. Such a request carries that name.
func Local(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host, names) {
			plain(w, http.StatusMisdirectedRequest, "these pages are for this machine: name it by address or localhost, or set http.external-url")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func local(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host != "" && slices.Contains(names, host)
}
