package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// HTTP is how pages, API and metrics are served.
type HTTP struct {
	Address string // HOST:PORT, port 0: any; Off: none
	// Elsewhere takes any free port when the port of Address is in use.
	Elsewhere bool
	// ExternalURL is where people reach the pages, for links in alerts; "": http at
	// Address. The pages are served below its path too.
	ExternalURL string
	// TraceURL is a link to a trace, with {trace_id} in it; "": none.
	TraceURL string

	CertFile, KeyFile string // TLS with this certificate
	ClientCAFile      string // only clients that these authorities signed
	User              string // basic auth, with Password
	Password          Secret
	Token             Secret // bearer token
	Profiles          bool   // serve /debug/pprof/
}

func (h *HTTP) fields() []field {
	all := []field{
		{"address", text{&h.Address}},
		{"external-url", text{&h.ExternalURL}},
		{"trace-url", text{&h.TraceURL}},
		{"cert-file", text{&h.CertFile}},
		{"key-file", text{&h.KeyFile}},
		{"client-ca-file", text{&h.ClientCAFile}},
		{"user", text{&h.User}},
	}
	all = append(all, h.Password.keys("password")...)
	all = append(all, h.Token.keys("token")...)
	return append(all, field{"pprof", truth{&h.Profiles}})
}

// Guarded says whether clients must prove who they are.
func (h *HTTP) Guarded() bool { return h.User != "" || h.Token.IsSet() || h.ClientCAFile != "" }

// CheckTraceURL says what is wrong with a link to a trace.
func CheckTraceURL(link string) error {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(link, "{trace_id}") || strings.Contains(u.Host, "{") {
		return errors.New("want http://HOST/... or https://HOST/... with {trace_id} behind HOST")
	}
	return nil
}

// Validate lists every fault.
func (h *HTTP) Validate() error {
	var f faults
	if err := checkAddress(h.Address); err != nil {
		f.add("address", "http %q: %v", h.Address, err)
	}
	if u, err := url.Parse(h.ExternalURL); h.ExternalURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		f.add("external-url", "http external-url: want http://HOST/ or https://HOST/")
	}
	if err := CheckTraceURL(h.TraceURL); h.TraceURL != "" && err != nil {
		f.add("trace-url", "http trace-url: %v", err)
	}
	if (h.CertFile == "") != (h.KeyFile == "") {
		f.add("cert-file", "http: TLS needs both cert-file and key-file")
	}
	if h.ClientCAFile != "" && h.CertFile == "" {
		f.add("client-ca-file", "http: client-ca-file needs cert-file and key-file")
	}
	if (h.User == "") != !h.Password.IsSet() {
		f.add("user", "http: basic auth needs both user and password-file or password-env")
	}
	h.Password.check(&f, "password")
	h.Token.check(&f, "token")
	return f.err()
}

// Base is the path of ExternalURL without a slash at its end, "" for none. A reverse proxy may serve the pages
// below it.
func (h *HTTP) Base() string {
	u, err := url.Parse(h.ExternalURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// Loopback says whether only this machine can reach the address.
func (h *HTTP) Loopback() bool {
	if h.Address == Off {
		return true
	}
	host, _, err := net.SplitHostPort(h.Address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Names are those under which people reach the pages, beside addresses and localhost.
func (h *HTTP) Names() []string {
	if u, err := url.Parse(h.ExternalURL); err == nil && u.Host != "" {
		return []string{strings.ToLower(u.Hostname())}
	}
	return nil
}

func checkAddress(address string) error {
	if address == Off {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("want HOST:PORT, or off")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %q is not in 0 to 65535", port)
	}
	return nil
}
