package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"

	"github.com/isowatch/isowatch/internal/config"
)

// askingClient asks other members for their pages. It follows no redirection.
func askingClient(g *config.Group) (*http.Client, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: g.ServerName}
	if g.CAFile != "" {
		pem, err := os.ReadFile(g.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: group: CA file: %w", ErrConfig, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%w: group: CA file %s holds no PEM certificate", ErrConfig, g.CAFile)
		}
	}
	if g.CertFile != "" {
		show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // a renewed one counts without a restart
			pair, err := tls.LoadX509KeyPair(g.CertFile, g.KeyFile)
			return &pair, err
		}
		if _, err := show(nil); err != nil {
			return nil, fmt.Errorf("%w: group: certificate: %w", ErrConfig, err)
		}
		c.GetClientCertificate = show
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.Proxy = c, nil
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// shared are the addresses of RFC 6598, which clusters give out too.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// mayLogIn says whether the login of a request goes to this address. The group's store tells addresses, so a login that goes anywhere
// could be caught by a client that may write there. With a CA file it goes to members with a certificate of that authority, and
// otherwise to private addresses.
func mayLogIn(g *config.Group, to *url.URL) bool {
	if g.CAFile != "" {
		return to.Scheme == "https"
	}
	ip, err := netip.ParseAddr(to.Hostname())
	ip = ip.Unmap()
	return err == nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || shared.Contains(ip))
}
