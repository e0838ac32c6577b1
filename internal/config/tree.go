package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A configuration is a tree. Each part lists its keys once, in fields. Reading a
// file, showing the settings in effect, and hiding secrets all go by that list.

// tree is a part with keys.
type tree interface{ fields() []field }

// field is one key of a part.
type field struct {
	key string
	to  any // leaf, listing, tree, option or many
}

// leaf is a value with a text form. String gives "" for what is not set.
type leaf interface {
	set(text string) error
	String() string
}

// listing is a list of texts, each shown as shown has it; nil: as it is.
type listing struct {
	to    *[]string
	shown func(string) string
}

// option is a part that may be left out.
type option struct {
	get   func() tree // nil: left out
	begin func() tree // puts it there
}

// many is a list of parts.
type many struct {
	len   func() int
	get   func(i int) tree
	begin func() tree // puts another one at the end
}

// maybe is the option at to. A new one is zero, or what fresh makes.
func maybe[T any, P interface {
	*T
	tree
}](to *P, fresh func() T) option {
	return option{
		get: func() tree {
			if *to == nil {
				return nil
			}
			return *to
		},
		begin: func() tree {
			*to = new(T)
			if fresh != nil {
				**to = fresh()
			}
			return *to
		},
	}
}

// several is the list at to.
func several[T any, P interface {
	*T
	tree
}](to *[]T, fresh func() T) many {
	return many{
		len: func() int { return len(*to) },
		get: func(i int) tree { return P(&(*to)[i]) },
		begin: func() tree {
			var x T
			if fresh != nil {
				x = fresh()
			}
			*to = append(*to, x)
			return P(&(*to)[len(*to)-1])
		},
	}
}

// The leaves.

type text struct{ to *string }

func (l text) String() string         { return *l.to }
func (l text) set(value string) error { *l.to = value; return nil }

// storeURL is the URL of a group's store. Its login is not shown.
type storeURL struct{ to *string }

func (l storeURL) String() string         { return ShownState(*l.to) }
func (l storeURL) set(value string) error { *l.to = value; return nil }

type number struct{ to *int }

func (l number) String() string { return strconv.Itoa(*l.to) }
func (l number) set(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("%q: want a whole number", value)
	}
	*l.to = n
	return nil
}

// numberIfSet is a number whose default is nil: it depends on other values.
type numberIfSet struct{ to **int }

func (l numberIfSet) String() string {
	if *l.to == nil {
		return ""
	}
	return number{*l.to}.String()
}

func (l numberIfSet) set(value string) error {
	n := 0
	if err := (number{&n}).set(value); err != nil {
		return err
	}
	*l.to = &n
	return nil
}

type decimal struct{ to *float64 }

func (l decimal) String() string { return strconv.FormatFloat(*l.to, 'g', -1, 64) }
func (l decimal) set(value string) error {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("%q: want a number", value)
	}
	*l.to = n
	return nil
}

type truth struct{ to *bool }

func (l truth) String() string { return strconv.FormatBool(*l.to) }
func (l truth) set(value string) error {
	switch value {
	case "true":
		*l.to = true
	case "false":
		*l.to = false
	default:
		return fmt.Errorf("%q: want true or false", value)
	}
	return nil
}

type period struct{ to *time.Duration }

func (l period) String() string { return l.to.String() }
func (l period) set(value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return fmt.Errorf("%q: want a duration such as 90s or 24h", value)
	}
	*l.to = d
	return nil
}

type size struct{ to *Size }

func (l size) String() string { return l.to.String() }
func (l size) set(value string) (err error) {
	s, err := ParseSize(value)
	if err == nil {
		*l.to = s
	}
	return err
}

// orAuto is a size that is 0 for auto.
type orAuto struct{ size }

func (l orAuto) String() string {
	if *l.to == 0 {
		return Auto
	}
	return l.size.String()
}

func (l orAuto) set(value string) error {
	if value == Auto {
		*l.to = 0
		return nil
	}
	s, err := ParseSize(value)
	if err == nil && s == 0 {
		err = fmt.Errorf("%q: want %s, or a size above 0", value, Auto)
	}
	if err == nil {
		*l.to = s
	}
	return err
}

type oneOf struct {
	to     *string
	values []string
}

func (l oneOf) String() string { return *l.to }
func (l oneOf) set(value string) error {
	for _, v := range l.values {
		if v == value {
			*l.to = value
			return nil
		}
	}
	return fmt.Errorf("%q: want %s", value, strings.Join(l.values, " or "))
}

// address is a URL. Its users, passwords, tokens and all behind the host are
// not shown.
type address struct{ to *string }

func (l address) String() string         { return MaskURL(*l.to) }
func (l address) set(value string) error { *l.to = value; return nil }
