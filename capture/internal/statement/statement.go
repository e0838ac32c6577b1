// Package statement tells which SQL statements begin and end transactions.
package statement

import "strings"

// Verb is the effect of a statement on the transaction that it runs in.
type Verb uint8

const (
	Other      Verb = iota
	Begin           // BEGIN, START TRANSACTION
	Commit          // COMMIT, END
	Rollback        // ROLLBACK, ABORT
	Prepare         // PREPARE TRANSACTION: another connection decides
	Savepoint       // SAVEPOINT name
	RollbackTo      // ROLLBACK TO SAVEPOINT name
	Release         // RELEASE SAVEPOINT name
	Level           // SET TRANSACTION ISOLATION LEVEL level
)

// Parse reads the first words of a statement. name is the savepoint in lower case, or the
// isolation level in upper case, "" if the statement names none. Several statements in one text
// are taken for the first of them.
func Parse(sql string) (v Verb, name string) {
	s := scanner{sql}
	switch s.word() {
	case "BEGIN":
		return Begin, s.level()
	case "START":
		if s.word() == "TRANSACTION" {
			return Begin, s.level()
		}
	case "COMMIT":
		if s.word() != "PREPARED" {
			return Commit, ""
		}
	case "END":
		return Commit, ""
	case "ABORT":
		return Rollback, ""
	case "ROLLBACK":
		return s.rollback()
	case "PREPARE":
		if s.word() == "TRANSACTION" {
			return Prepare, ""
		}
	case "SAVEPOINT":
		return Savepoint, s.name()
	case "RELEASE":
		return Release, s.savepoint()
	case "SET":
		if s.word() == "TRANSACTION" {
			if level := s.level(); level != "" {
				return Level, level
			}
		}
	}
	return Other, ""
}

// rollback reads on behind ROLLBACK.
func (s *scanner) rollback() (Verb, string) {
	w := s.word()
	if w == "WORK" || w == "TRANSACTION" {
		w = s.word()
	}
	switch w {
	case "TO":
		return RollbackTo, s.savepoint()
	case "PREPARED":
		return Other, ""
	}
	return Rollback, ""
}

// savepoint reads a name, with SAVEPOINT before it or without.
func (s *scanner) savepoint() string {
	before := *s
	if s.word() != "SAVEPOINT" {
		*s = before
	}
	return s.name()
}

// level reads what is behind ISOLATION LEVEL, up to the end or a word that does not belong to a
// level.
func (s *scanner) level() string {
	for w := s.word(); w != ""; w = s.word() {
		if w != "ISOLATION" || s.word() != "LEVEL" {
			continue
		}
		switch first := s.word(); first {
		case "READ", "REPEATABLE":
			return first + " " + s.word()
		default:
			return first
		}
	}
	return ""
}

// scanner reads words from the rest of a statement.
type scanner struct{ rest string }

// word reads the next word in upper case, "" at the end and before anything else but a comma.
func (s *scanner) word() string { return strings.ToUpper(s.bare()) }

func (s *scanner) bare() string {
	s.skip()
	n := 0
	for n < len(s.rest) && isLetter(s.rest[n]) {
		n++
	}
	w := s.rest[:n]
	s.rest = s.rest[n:]
	return w
}

// name reads an identifier, quoted or not.
func (s *scanner) name() string {
	s.skip()
	if s.rest == "" {
		return ""
	}
	q := s.rest[0]
	if q != '"' && q != '`' && q != '[' {
		return strings.ToLower(s.bare())
	}
	if q == '[' {
		q = ']'
	}
	name, _, _ := strings.Cut(s.rest[1:], string(q))
	return name
}

// skip passes over white space, comments and commas.
func (s *scanner) skip() {
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\r\n,;")
		switch {
		case strings.HasPrefix(s.rest, "--"):
			_, s.rest, _ = strings.Cut(s.rest, "\n")
		case strings.HasPrefix(s.rest, "/*"):
			_, s.rest, _ = strings.Cut(s.rest, "*/")
		default:
			return
		}
	}
}

func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
