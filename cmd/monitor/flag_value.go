package main

import (
	"strings"

	"github.com/isowatch/isowatch/config"
	"github.com/isowatch/isowatch/isolation"
)

// The types of flags with a syntax of their own, as pflag.Value.

type expectValue struct {
	to   *config.Watch
	text *string // as it was given
}

func newExpect(to *config.Watch) expectValue { return expectValue{to, new(string)} }

func (v expectValue) String() string {
	if v.to == nil { // pflag asks the zero value
		return ""
	}
	return v.to.Expected()
}
func (v expectValue) Type() string { return "LEVEL|PRODUCT/SETTING" }
func (v expectValue) Set(text string) error {
	*v.text = text
	return v.to.SetExpect(text)
}

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

// choiceValue is a text that is one of several.
type choiceValue struct {
	to      *string
	choices []string
}

func (v choiceValue) String() string { return *v.to }
func (v choiceValue) Type() string   { return strings.Join(v.choices, "|") }
func (v choiceValue) Set(text string) error {
	for _, c := range v.choices {
		if text == c {
			*v.to = text
			return nil
		}
	}
	return usagef("want %s", strings.Join(v.choices, " or "))
}
