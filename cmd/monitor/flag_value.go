package main

import (
	"errors"
	"strings"

	"github.com/isowatch/isowatch/internal/config"
	"github.com/isowatch/isowatch/internal/isolation"
)

// The types of flags with a syntax of their own, as pflag.Value.

type expectValue struct{ to *config.Watch }

func (v expectValue) String() string {
	if v.to == nil { // pflag asks the zero value
		return ""
	}
	return v.to.Expected()
}
func (v expectValue) Type() string          { return "LEVEL|PRODUCT/SETTING" }
func (v expectValue) Set(text string) error { return v.to.SetExpect(text) }

type levelsValue struct {
	to    *config.Watch
	texts *[]string
}

func (v levelsValue) String() string {
	if v.to == nil { // pflag asks the zero value
		return ""
	}
	return strings.Join(isolation.LevelNames(v.to.Levels), ",")
}
func (v levelsValue) Type() string    { return "LEVEL,..." }
func (v levelsValue) given() []string { return *v.texts }
func (v levelsValue) Set(text string) error {
	err := v.to.SetLevels(text)
	if err == nil {
		*v.texts = append(*v.texts, text)
	}
	return err
}

// traceValue is a link to a trace.
type traceValue struct{ to *string }

func (v traceValue) String() string {
	if v.to == nil { // pflag asks the zero value
		return ""
	}
	return *v.to
}
func (v traceValue) Type() string { return "URL" }
func (v traceValue) Set(text string) error {
	if err := config.CheckTraceURL(text); text != "" && err != nil {
		return err
	}
	*v.to = text
	return nil
}

type windowValue struct{ to *config.Window }

func (v windowValue) String() string { return v.to.String() }
func (v windowValue) Type() string   { return "DURATION" }
func (v windowValue) Set(text string) error {
	w, err := config.ParseWindow(text)
	if err == nil {
		*v.to = w
	}
	return err
}

type contractValue struct {
	to    *config.Contract
	texts *[]string
}

func (v contractValue) String() string {
	if v.to == nil {
		return ""
	}
	return v.to.String()
}
func (v contractValue) Type() string    { return "KEY=VALUE,..." }
func (v contractValue) given() []string { return *v.texts }
func (v contractValue) Set(text string) error {
	err := v.to.Set(text)
	if err == nil {
		*v.texts = append(*v.texts, text)
	}
	return err
}

type boundValue struct{ to *config.Bound }

func (v boundValue) String() string {
	if v.to == nil {
		return ""
	}
	return v.to.String()
}
func (v boundValue) Type() string { return "TIME|POSITION" }
func (v boundValue) Set(text string) (err error) {
	b, err := config.ParseBound(text)
	if err == nil {
		*v.to = b
	}
	return err
}

// choiceValue is a text that is one of several. The present value may be set again, also "".
type choiceValue struct {
	to      *string
	choices []string
}

// widestType bounds the name of a flag's type in the help, letters.
const widestType = 40

func (v choiceValue) String() string { return *v.to }
func (v choiceValue) Type() string {
	if all := strings.Join(v.choices, "|"); len(all) <= widestType {
		return all
	}
	return "NAME"
}
func (v choiceValue) Set(text string) error {
	if text == *v.to {
		return nil
	}
	for _, c := range v.choices {
		if strings.EqualFold(text, c) {
			*v.to = c
			return nil
		}
	}
	return usageError{errors.New(wanted(text, v.choices))}
}

// isolationValue is a level in SQL's words, as a database takes it.
type isolationValue struct{ to *string }

// sqlLevels are the level names of SQL and of MariaDB.
var sqlLevels = []string{"read uncommitted", "read committed", "repeatable read", "snapshot isolation", "serializable"}

func (v isolationValue) String() string { return *v.to }
func (v isolationValue) Type() string   { return "LEVEL" }
func (v isolationValue) Set(text string) error {
	words := strings.NewReplacer("-", " ", "_", " ").Replace(strings.TrimSpace(text))
	return choiceValue{v.to, sqlLevels}.Set(words)
}
