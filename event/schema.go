package event

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of an event. What no schema can
// say only the decoder checks: field names given twice, UTF-8, depth, the size
// of a record, end before start.
//
//go:embed schema.json
var Schema string
