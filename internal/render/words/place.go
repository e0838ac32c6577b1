package words

import "strings"

// Numbers says what the numbers in positions in files count.
type Numbers int

const (
	// OfService are bytes of files, and lines of standard input.
	OfService Numbers = iota
	Lines
	Bytes
)

// Place is a position for people: "file:orders.jsonl byte 1234" for file:orders.jsonl:1234. Positions in brokers stay as they are.
func Place(position string, of Numbers) string {
	at := strings.LastIndexByte(position, ':')
	name, number := position[:max(at, 0)], position[at+1:]
	file := strings.HasPrefix(name, "file:")
	if !file && name != "stdin" || number == "" || strings.Trim(number, "0123456789") != "" {
		return position
	}
	unit := " byte "
	if of == Lines || of == OfService && !file {
		unit = " line "
	}
	return name + unit + number
}
