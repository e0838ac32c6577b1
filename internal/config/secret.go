package config

import "strings"

// Masked stands where a secret is not shown.
const Masked = "(secret)"

// Secret says where a secret text is: in a file, or in a variable of the
// environment. The text itself is in no configuration.
type Secret struct {
	File string
	Env  string // name of the variable
}

// IsSet says whether a secret is named.
func (s Secret) IsSet() bool { return s != Secret{} }

// keys are KEY-file and KEY-env.
func (s *Secret) keys(key string) []field {
	return []field{{key + "-file", text{&s.File}}, {key + "-env", text{&s.Env}}}
}

func (s Secret) check(f *faults, key string) {
	if s.File != "" && s.Env != "" {
		f.add(key+"-env", "%s-env: %s-file names the secret already", key, key)
	}
}

// MaskURL is a URL without its user, password and token, and without path and
// query, which may hold one. Any other text is masked as a whole.
func MaskURL(url string) string {
	if url == "" {
		return ""
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		scheme, rest = "", url
	} else {
		scheme += "://"
	}
	host, behind := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, behind = rest[:i], rest[i:]
	}
	login := ""
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host, login = host[i+1:], Masked+"@"
	}
	if host == "" || strings.ContainsAny(host, " \\") {
		return Masked
	}
	if behind == "/" {
		return scheme + login + host + "/"
	}
	if behind != "" {
		behind = "/" + Masked
	}
	return scheme + login + host + behind
}
