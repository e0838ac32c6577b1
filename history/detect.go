package history

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/isowatch/isowatch/event"
)

// HeadBytes of a file are enough to recognise its format.
const HeadBytes = 4096

// Detect recognises the format of a file by its first bytes. A file in no other format is taken
// as JSON lines.
func Detect(head []byte) Format {
	if isDBCop(head) { // before proto: the number of a history can be 0x12
		return DBCop
	}
	if event.IsProto(head) {
		return Proto
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n,")
	if len(text) == 0 {
		return JSONL
	}
	switch text[0] {
	case '{', '[', '(', '#', ';':
		return detectBraces(text)
	case 'r', 'w':
		if len(text) > 1 && text[1] == '(' {
			return PolySI
		}
		if len(text) > 1 && text[1] == ' ' {
			return AWDIT
		}
	case '-', '=':
		return AWDIT
	case 'I':
		if bytes.HasPrefix(text, []byte("INFO ")) {
			return Porcupine
		}
	}
	return JSONL
}

// detectBraces tells EDN from JSON, and the forms of each, by the names of fields.
func detectBraces(text []byte) Format {
	squeezed := squeeze(text)
	has := func(name string) bool { return bytes.Contains(squeezed, []byte(name)) }
	starts := func(prefix string) bool { return bytes.HasPrefix(squeezed, []byte(prefix)) }
	switch {
	case starts(`{"txn"`):
		return JSONL
	case starts("{:") || starts("[{:") || starts("({:") || starts("#jepsen") || starts("[#jepsen") || text[0] == ';' || text[0] == '(':
		if has(`:key"`) {
			return Porcupine
		}
		return EDN
	case starts(`{"params"`) || starts(`[[{"events"`) || starts(`[[{"committed"`):
		return DBCopJSON
	case starts(`{"value":[[`) || starts(`{"isInitial"`):
		return Viper
	case starts("[{") && (has(`"sts":`) || has(`"cts":`)):
		return TimeKiller
	case starts(`[{"`) && has(`"type":"`):
		return ElleJSON
	case starts(`{"`) && has(`"type":"invoke"`):
		return ElleJSON
	}
	return JSONL
}

// squeeze is text without white space.
func squeeze(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, c := range text {
		if !isSpace(c) {
			out = append(out, c)
		}
	}
	return out
}

// DetectDir recognises the format of a folder by the names and the first bytes of
// its files.
func DetectDir(dir fs.FS) (Format, error) {
	for i := range forms {
		x := &forms[i]
		if x.session == nil {
			continue
		}
		files, err := x.names.in(dir)
		if err != nil {
			return "", err
		}
		if len(files) > 0 {
			return x.name, nil
		}
	}
	return "", errors.New("is a folder without logs of Cobra (T0.log, ...) or Viper (J0.log, ...)")
}
