package main

import (
	"fmt"
	"time"

	"github.com/isowatch/isowatch/internal/app"
)

// bugNames are the bugs of the demo's database, in the order of the table.
var bugNames = [...]string{"lost update", "write skew", "dirty read", "stale read"}

// meant says what a bug does to the bank.
func meant(bug string) string {
	switch bug {
	case "lost update":
		return "two transactions change one account, and one change is lost."
	case "write skew":
		return "two transactions each change what the other one has read."
	case "dirty read":
		return "a transaction reads what another one wrote, which is then rolled back."
	}
	return "a transaction reads data as they were some time ago."
}

// did says in a sentence what a transaction that suffered a bug did.
func did(p *app.Planted) string {
	txn, key, other := printable(p.Txn), printable(p.Key), printable(p.Other)
	switch p.Bug {
	case "lost update":
		return fmt.Sprintf("%s overwrites %s, which %s has just changed.", txn, key, other)
	case "write skew":
		return fmt.Sprintf("%s commits, although %s has changed %s, which it had read.", txn, other, key)
	case "dirty read":
		return fmt.Sprintf("%s reads %s from %s, which is then rolled back.", txn, key, other)
	}
	return fmt.Sprintf("%s reads %s as it was before %s changed it.", txn, key, other)
}

// name is the finding's name, with Elle's.
func (s *told) name() string {
	if s.title == s.anomaly {
		return s.title
	}
	return s.title + " (" + s.anomaly + ")"
}

// why says in a few words why a bug shows under this name.
func (s *told) why() string {
	switch s.anomaly {
	case "G1a":
		return "what it read was rolled back"
	case "G1b":
		return "what it read was not the last write of that transaction"
	case "internal":
		return "it read one key twice, and got two answers"
	case "lost-update":
		return "two transactions replaced the same value"
	case "G-single-item":
		return "it saw one part of another transaction and missed another part"
	case "G-single-item-process":
		return "its client had met newer data before"
	case "G2-item", "G2":
		return "more than two transactions take part"
	case "G2-item-process", "G2-process":
		return "the order of one client's transactions takes part"
	}
	return s.headline
}

// ms is a time as people say it: 7 ms, 1.2 s.
func ms(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", max(1, d.Milliseconds()))
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
