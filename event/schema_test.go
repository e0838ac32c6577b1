package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is the part of JSON Schema that schema.json uses; a keyword beyond it
// makes accepts fail.
type schema map[string]any

func (root schema) accepts(s schema, v any) error {
	for keyword, arg := range s {
		if err := root.keyword(s, keyword, arg, v); err != nil {
			return err
		}
	}
	return nil
}

func (root schema) keyword(s schema, keyword string, arg, v any) error {
	switch keyword {
	case "$schema", "$id", "$defs", "title", "description", "then", "else":
		return nil
	case "$ref":
		name := strings.TrimPrefix(arg.(string), "#/$defs/")
		return root.accepts(root["$defs"].(map[string]any)[name].(map[string]any), v)
	case "type":
		return checkType(arg, v)
	case "const", "enum":
		return checkEnum(keyword, arg, v)
	case "allOf", "anyOf":
		return root.combine(keyword, arg.([]any), v)
	case "if":
		branch := "then"
		if root.accepts(arg.(map[string]any), v) != nil {
			branch = "else"
		}
		if next, ok := s[branch].(map[string]any); ok {
			return root.accepts(next, v)
		}
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		return root.object(keyword, arg, v)
	case []any:
		return root.array(keyword, arg, v)
	case json.Number:
		return checkNumber(keyword, arg, v)
	case string:
		return checkString(keyword, arg, v)
	}
	return nil
}

func (root schema) combine(keyword string, all []any, v any) error {
	var failure error
	for _, s := range all {
		err := root.accepts(s.(map[string]any), v)
		if keyword == "anyOf" && err == nil {
			return nil
		}
		if err != nil {
			failure = err
			if keyword == "allOf" {
				return err
			}
		}
	}
	return failure
}

func (root schema) object(keyword string, arg any, v map[string]any) error {
	switch keyword {
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := v[name.(string)]; !ok {
				return fmt.Errorf("%s is missing", name)
			}
		}
	case "properties":
		for name, s := range arg.(map[string]any) {
			if field, ok := v[name]; ok {
				if err := root.accepts(s.(map[string]any), field); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	default:
		return knownElsewhere(keyword)
	}
	return nil
}

func (root schema) array(keyword string, arg any, v []any) error {
	switch keyword {
	case "items":
		for i, item := range v {
			if err := root.accepts(arg.(map[string]any), item); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case "maxItems":
		if most, _ := arg.(json.Number).Int64(); int64(len(v)) > most {
			return fmt.Errorf("%d items", len(v))
		}
	default:
		return knownElsewhere(keyword)
	}
	return nil
}

// knownElsewhere accepts keywords that say nothing of the value's type.
func knownElsewhere(keyword string) error {
	if slices.Contains(strings.Fields("required properties items maxItems minimum maximum minLength pattern"), keyword) {
		return nil
	}
	return fmt.Errorf("schema.json uses the keyword %s, which this test does not know", keyword)
}

func checkNumber(keyword string, arg any, v json.Number) error {
	if keyword != "minimum" && keyword != "maximum" {
		return knownElsewhere(keyword)
	}
	n, _ := new(big.Float).SetPrec(200).SetString(v.String())
	bound, _ := new(big.Float).SetPrec(200).SetString(arg.(json.Number).String())
	if c := n.Cmp(bound); keyword == "minimum" && c < 0 || keyword == "maximum" && c > 0 {
		return fmt.Errorf("%s is beyond %s", v, arg)
	}
	return nil
}

func checkString(keyword string, arg any, v string) error {
	switch keyword {
	case "minLength":
		if least, _ := arg.(json.Number).Int64(); int64(len(v)) < least {
			return fmt.Errorf("%q is too short", v)
		}
	case "pattern":
		if !regexp.MustCompile(arg.(string)).MatchString(v) {
			return fmt.Errorf("%q does not match", v)
		}
	default:
		return knownElsewhere(keyword)
	}
	return nil
}

func checkType(arg, v any) error {
	names := []any{arg}
	if list, ok := arg.([]any); ok {
		names = list
	}
	is := map[string]bool{}
	switch v := v.(type) {
	case nil:
		is["null"] = true
	case bool:
		is["boolean"] = true
	case string:
		is["string"] = true
	case json.Number:
		n, _, err := big.ParseFloat(v.String(), 10, 200, big.ToZero)
		is["number"], is["integer"] = true, err == nil && n.IsInt()
	case []any:
		is["array"] = true
	case map[string]any:
		is["object"] = true
	}
	for _, name := range names {
		if is[name.(string)] {
			return nil
		}
	}
	return fmt.Errorf("%v is not one of %v", v, names)
}

func checkEnum(keyword string, arg, v any) error {
	allowed := []any{arg}
	if keyword == "enum" {
		allowed = arg.([]any)
	}
	for _, a := range allowed {
		if reflect.DeepEqual(a, v) {
			return nil
		}
	}
	return fmt.Errorf("%v is not one of %v", v, allowed)
}

func parse(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func loadSchema(t *testing.T) schema {
	t.Helper()
	v, err := parse([]byte(Schema))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// decoderOnly are the reasons for which the decoder refuses what the schema,
// by its nature, cannot.
var decoderOnly = regexp.MustCompile(`given twice|surrogate|end is before start|is not an integer$|beyond 64 bits of nanoseconds`)

// unwrapped is the record that a CloudEvent holds, nil without one: the schema is
// that of the record. Anything else stays.
func unwrapped(v any) any {
	if o, _ := v.(map[string]any); o["specversion"] != nil && o["ops"] == nil {
		return o["data"]
	}
	return v
}

// The schema and the decoder agree on every record of testdata.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	root := loadSchema(t)
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	accepted, refused := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			v, err := parse([]byte(line))
			if err != nil || !json.Valid([]byte(line)) {
				continue // comments, commands and broken JSON
			}
			if v = unwrapped(v); v == nil {
				continue
			}
			var d Decoder
			var b Batch
			d.Decode(&b, Position{}, []byte(strings.TrimSuffix(line, "\n")))
			err = root.accepts(root, v)
			switch {
			case err != nil && len(b.Bad) == 0:
				t.Errorf("the schema refuses what the decoder accepts: %v: %s", err, line)
			case err == nil && len(b.Bad) > 0 && !decoderOnly.MatchString(b.Bad[0].Reason):
				t.Errorf("the schema accepts what the decoder refuses: %s: %s", b.Bad[0].Reason, line)
			case err == nil:
				accepted++
			default:
				refused++
			}
		}
	}
	if accepted < 50 || refused < 50 {
		t.Errorf("testdata has only %d records that the schema accepts and %d that it refuses", accepted, refused)
	}
}

// Every example of the documentation is accepted by the schema and the decoder.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	root := loadSchema(t)
	examples := 0
	for i, block := range strings.Split(string(text), "```") {
		body, isJSON := strings.CutPrefix(block, "json\n")
		if i%2 == 0 || !isJSON {
			continue
		}
		for line := range strings.Lines(body) {
			rec := []byte(strings.TrimSpace(line))
			var d Decoder
			var b Batch
			d.Decode(&b, Position{}, rec)
			if len(b.Bad) > 0 {
				t.Errorf("%s: %s", b.Bad[0].Reason, rec)
				continue
			}
			v, err := parse(rec)
			if err == nil {
				err = root.accepts(root, unwrapped(v))
			}
			if err != nil {
				t.Errorf("%v: %s", err, rec)
			}
			examples++
		}
	}
	if examples < 15 {
		t.Errorf("docs/format.md has only %d examples", examples)
	}
}
