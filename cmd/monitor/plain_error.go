package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// failedTo says what could not be done with a file, by the operation that failed.
var failedTo = map[string]string{
	"stat": "cannot be read", "lstat": "cannot be read", "open": "cannot be opened", "read": "cannot be read",
	"write": "cannot be written", "mkdir": "cannot be made", "create": "cannot be made",
}

// plainText is the text of the error, with the file first and the operation in words.
func plainText(err error) string {
	text := err.Error()
	var of *fs.PathError
	if errors.As(err, &of) && failedTo[of.Op] != "" {
		text = strings.Replace(text, of.Error(), fmt.Sprintf("%s %s: %v", of.Path, failedTo[of.Op], of.Err), 1)
		text = strings.Replace(text, of.Path+": "+of.Path+" ", of.Path+" ", 1)
	}
	for _, part := range []string{"input: ", "publisher: "} { // of the program, and nothing to its user
		text = strings.TrimPrefix(text, part)
	}
	return text
}
