package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// object is a JSON schema, or a part of it.
type object map[string]any

// Schema is the JSON schema (draft 7) of the files that Parse reads. It refuses no file that Parse takes.
// Parse finds the rest: names that are given twice, faults of parts far from each other, and of forms that
// no pattern can say.
func Schema() []byte {
	s := DefaultService()
	all := schemaOf(&s)
	all["$schema"], all["title"] = "http://json-schema.org/draft-07/schema#", "Configuration of monitor run"
	all["definitions"] = definitions()
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("config: %v", err)) // texts, numbers, lists and maps only
	}
	return append(text, '\n')
}

// single are the types of a value. It is read by its text, so that 5 and "5" are the same.
var single = []string{"string", "number", "boolean"}

const (
	wholePattern    = `^[+-]?[0-9]+$`
	sizePattern     = `^(auto|\s*[+-]?[0-9]+\s*([KMG]iB|[kMG]B|B)?\s*)$`
	durationPattern = `^[+-]?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`
)

// schemaOf is the schema of a value. A part or a list may be null, and a single value
// may not.
func schemaOf(to any) object {
	switch to := to.(type) {
	case leaf:
		return schemaOfLeaf(to)
	case listing:
		return object{"type": append([]string{"array", "null"}, single...), "items": object{"type": single}}
	case option:
		return schemaOf(to.begin())
	case many:
		return object{"type": []string{"array", "null"}, "items": schemaOf(to.begin())}
	case tree:
		keys := object{}
		for _, f := range to.fields() {
			keys[f.key] = schemaOf(f.to)
		}
		all := object{"type": []string{"object", "null"}, "properties": keys, "additionalProperties": false}
		if r, ok := to.(ruled); ok {
			all["if"], all["then"] = object{"type": "object"}, object{"allOf": r.rules()}
		}
		return all
	}
	panic(fmt.Sprintf("config: no schema of %T", to))
}

func schemaOfLeaf(l leaf) object {
	switch l := l.(type) {
	case truth:
		return oneOfTexts("true", "false")
	case oneOf:
		return oneOfTexts(l.values...)
	case contractLeaf:
		var values []string
		for _, item := range ContractItems() {
			if value, ok := strings.CutPrefix(item, l.key+"="); ok && value != "" {
				values = append(values, value)
			}
		}
		if len(values) == 0 {
			return schemaOfLeaf(period{}) // clock-drift
		}
		return oneOfTexts(values...)
	case number, numberIfSet:
		return object{"type": []string{"integer", "string"}, "pattern": wholePattern}
	case decimal:
		return object{"type": []string{"number", "string"}}
	case period: // a duration without a unit can only be 0
		return object{"type": []string{"string", "integer"}, "pattern": durationPattern, "minimum": 0, "maximum": 0}
	case size, orAuto:
		return object{"type": []string{"string", "integer"}, "pattern": sizePattern, "minimum": 0}
	case expectLeaf:
		return ref("expected")
	case levelsLeaf: // an empty list is one without a name
		return object{"anyOf": []object{ref("levels"), {"type": "array", "minItems": 1, "items": ref("levels")}}}
	}
	return object{"type": single}
}

// oneOfTexts are these texts; true and false need no quotes, and stand for yes and no.
func oneOfTexts(values ...string) object {
	var enum []any
	for _, v := range values {
		switch v {
		case "true", "false":
			enum = append(enum, v == "true")
		case "yes":
			enum = append(enum, true, "true")
		case "no":
			enum = append(enum, false, "false")
		}
		enum = append(enum, v)
	}
	return object{"enum": enum}
}
