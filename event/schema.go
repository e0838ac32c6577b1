package event

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of an event. Only the decoder checks what a schema
// cannot express: field names given twice, UTF-8, depth, the size of a record, end before
// start.
//
//go:embed schema.json
var Schema string
