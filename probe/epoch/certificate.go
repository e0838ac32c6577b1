package epoch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// Refused says why the server's certificate was refused, if err is about that. trust says how
// somebody makes its authority known.
func Refused(err error, trust string) (text string, is bool) {
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) {
		return "", false
	}
	text = "the server's certificate is refused: " + refused.Err.Error()
	var unknown x509.UnknownAuthorityError
	if errors.As(refused.Err, &unknown) {
		text += "; " + trust
	}
	return text, true
}
