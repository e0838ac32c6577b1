package main

import (
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// urlFlags are the flags with URLs or addresses, and where a password belongs instead. Other users can
// see a process's arguments, and shells keep them. The variable of the flag is not refused.
var urlFlags = map[string]string{
	"nats":         "name the user with --nats-user, and a file with --nats-password-file, --nats-token-file or --nats-creds-file",
	"kafka":        "name the user with --kafka-user, and a file with --kafka-password-file",
	"to":           "name the user with --nats-user or --kafka-user, and a file with --nats-password-file, --nats-token-file or --kafka-password-file",
	"webhook":      "name a file with 'url-file' of the webhook in the file of --config (docs/configuration.md)",
	"alertmanager": "name a file with 'password-file' or 'token-file' of the Alertmanager in the file of --config (docs/configuration.md)",
	"endpoint":     databasePassword,
}

const databasePassword = "name a file with --password-file (ISOWATCH_PASSWORD_FILE), or with PGPASSFILE for PostgreSQL"

// refusePasswords refuses URLs with a password on the command line. No part of one is printed.
func refusePasswords(c *cobra.Command, args []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		instead, ok := urlFlags[f.Name]
		if !ok || err != nil {
			return
		}
		if slices.ContainsFunc(valuesOf(f), showsPassword) {
			err = usagef("--%s: the list of processes shows the password in it: %s", f.Name, instead)
		}
	})
	if err == nil && slices.ContainsFunc(args, showsPassword) {
		err = usagef("the list of processes shows the password in the URL: %s", databasePassword)
	}
	return err
}

func valuesOf(f *pflag.Flag) []string {
	if many, ok := f.Value.(pflag.SliceValue); ok {
		return many.GetSlice()
	}
	return []string{f.Value.String()}
}

// secretOptions are options of URLs that hold a secret.
var secretOptions = []string{"password", "sslpassword", "pass", "pwd", "token", "access_token", "api_key", "apikey", "secret"}

// showsPassword says whether a URL has a password: behind the user's name, or among its options. For NATS a
// name alone is a token. A text that cannot be read as a URL counts if it may have one.
func showsPassword(text string) bool {
	scheme, rest, isURL := strings.Cut(text, "://")
	u, err := url.Parse(text)
	if err != nil || !isURL { // an address of a broker is none
		if !isURL {
			rest = text
		}
		user, _, found := strings.Cut(rest, "@")
		return found && strings.Contains(user, ":") && (isURL || !strings.ContainsAny(user, " /"))
	}
	if _, has := u.User.Password(); has {
		return true
	}
	if u.User != nil && slices.Contains([]string{"nats", "tls", "ws", "wss"}, scheme) {
		return true
	}
	for name, values := range u.Query() {
		if slices.Contains(secretOptions, strings.ToLower(name)) && slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
			return true
		}
	}
	return false
}
