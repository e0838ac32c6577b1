package event

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

var (
	protoBlock = regexp.MustCompile(`^(message|enum) (\w+) \{$`)
	protoField = regexp.MustCompile(`^(optional |repeated )?(\w+) (\w+) = (\d+);`)
	protoMap   = regexp.MustCompile(`^map<string, string> (\w+) = (\d+);`)
	protoEnum  = regexp.MustCompile(`^(\w+) = (\d+);`)
)

// published reads isowatch.proto as far as it goes: messages, enums, one oneof a
// message, no nesting.
func published(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	text, err := os.ReadFile("isowatch.proto")
	if err != nil {
		t.Fatal(err)
	}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("isowatch.proto"), Package: proto.String("isowatch.v1"), Syntax: proto.String("proto3"),
	}
	enums := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^enum (\w+)`).FindAllStringSubmatch(string(text), -1) {
		enums[m[1]] = true
	}
	var message *descriptorpb.DescriptorProto
	var enum *descriptorpb.EnumDescriptorProto
	oneof := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch m := protoBlock.FindStringSubmatch(line); {
		case m != nil && m[1] == "message":
			message, enum = &descriptorpb.DescriptorProto{Name: &m[2]}, nil
			file.MessageType = append(file.MessageType, message)
		case m != nil:
			message, enum = nil, &descriptorpb.EnumDescriptorProto{Name: &m[2]}
			file.EnumType = append(file.EnumType, enum)
		case strings.HasPrefix(line, "oneof "):
			oneof = true
			message.OneofDecl = append(message.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("value")})
		case line == "}":
			oneof = false
		case protoMap.MatchString(line):
			addMap(message, protoMap.FindStringSubmatch(line))
		case message != nil && protoField.MatchString(line):
			m := protoField.FindStringSubmatch(line)
			addField(message, m, enums, oneof)
		case enum != nil && protoEnum.MatchString(line):
			m := protoEnum.FindStringSubmatch(line)
			n, _ := strconv.Atoi(m[2])
			enum.Value = append(enum.Value, &descriptorpb.EnumValueDescriptorProto{Name: &m[1], Number: proto.Int32(int32(n))})
		}
	}
	for _, m := range file.MessageType { // proto3's optional is a oneof of one, behind the others
		for _, f := range m.Field {
			if f.GetProto3Optional() {
				f.OneofIndex = proto.Int32(int32(len(m.OneofDecl)))
				m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + f.GetName())})
			}
		}
	}
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// addMap adds a map of strings, which is a list of entries.
func addMap(message *descriptorpb.DescriptorProto, m []string) {
	entry := strings.ToUpper(m[1][:1]) + m[1][1:] + "Entry"
	nested := &descriptorpb.DescriptorProto{Name: &entry, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}}
	addField(nested, []string{"", "", "string", "key", "1"}, nil, false)
	addField(nested, []string{"", "", "string", "value", "2"}, nil, false)
	message.NestedType = append(message.NestedType, nested)
	addField(message, []string{"", "repeated ", message.GetName() + "." + entry, m[1], m[2]}, nil, false)
}

func addField(message *descriptorpb.DescriptorProto, m []string, enums map[string]bool, oneof bool) {
	n, _ := strconv.Atoi(m[4])
	f := &descriptorpb.FieldDescriptorProto{Name: &m[3], Number: proto.Int32(int32(n)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	if m[1] == "repeated " {
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
	if m[1] == "optional " {
		f.Proto3Optional = proto.Bool(true)
	}
	if oneof {
		f.OneofIndex = proto.Int32(0)
	}
	if scalar, ok := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(m[2])]; ok {
		f.Type = descriptorpb.FieldDescriptorProto_Type(scalar).Enum()
	} else {
		f.TypeName = proto.String(".isowatch.v1." + m[2])
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		if enums[m[2]] {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum()
		}
	}
	message.Field = append(message.Field, f)
}

// pb makes messages of the published file with the library's own encoder.
type pb struct {
	t    *testing.T
	file protoreflect.FileDescriptor
}

type set map[string]any

func (p pb) message(name string, fields set) protoreflect.Message {
	p.t.Helper()
	m := dynamicpb.NewMessage(p.file.Messages().ByName(protoreflect.Name(name)))
	for field, value := range fields {
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(field))
		if fd == nil {
			p.t.Fatalf("%s has no field %s", name, field)
		}
		switch v := value.(type) {
		case []protoreflect.Message:
			list := m.Mutable(fd).List()
			for _, one := range v {
				list.Append(protoreflect.ValueOfMessage(one))
			}
		case protoreflect.Message:
			m.Set(fd, protoreflect.ValueOfMessage(v))
		case map[string]string:
			for name, text := range v {
				m.Mutable(fd).Map().Set(protoreflect.ValueOfString(name).MapKey(), protoreflect.ValueOfString(text))
			}
		case string:
			if fd.Kind() == protoreflect.EnumKind {
				e := fd.Enum().Values().ByName(protoreflect.Name(v))
				if e == nil {
					p.t.Fatalf("no %s", v)
				}
				m.Set(fd, protoreflect.ValueOfEnum(e.Number()))
				break
			}
			m.Set(fd, protoreflect.ValueOfString(v))
		default:
			m.Set(fd, protoreflect.ValueOf(v))
		}
	}
	return m
}

func (p pb) value(field string, v any) protoreflect.Message {
	return p.message("Value", set{field: v})
}

func (p pb) list(values ...protoreflect.Message) protoreflect.Message {
	return p.value("list", p.message("List", set{"value": values}))
}

// bytes are Records of these records.
func (p pb) bytes(records ...protoreflect.Message) []byte {
	p.t.Helper()
	msg, err := proto.Marshal(p.message("Records", set{"record": records}).Interface())
	if err != nil {
		p.t.Fatal(err)
	}
	return msg
}

// What the library writes by the published file is read as the JSON twin is.
func TestProtoTwin(t *testing.T) {
	p := pb{t, published(t)}
	op := func(fields set) protoreflect.Message { return p.message("Op", fields) }
	version := p.value("int", int64(7))
	msg := p.bytes(
		p.message("Record", set{
			"txn": "w12-9", "source": "orders", "epoch": "e", "session": "w12", "seq": int64(-9), "status": "STATUS_COMMITTED",
			"start": int64(1760000000123456789), "end": int64(1760000000125456789), "start_ts": int64(-1), "commit_ts": int64(5),
			"isolation": "REPEATABLE READ", "stale": true, "name": "pay", "trace_id": "4bf9",
			"labels": map[string]string{"endpoint": "db-2", "": "no name", "app": "shop", "empty": ""},
			"ops": []protoreflect.Message{
				op(set{"op": "OP_R", "key": "a", "found": false}),
				op(set{"op": "OP_R", "key": "b", "value": p.value("null", true)}),
				op(set{"op": "OP_R", "key": "c", "value": p.value("null", true), "found": true}),
				op(set{"op": "OP_W", "key": "", "value": p.value("string", "a\"\n")}),
				op(set{"op": "OP_W", "key": "u", "value": p.value("uint", uint64(18446744073709551615))}),
				op(set{"op": "OP_W", "key": "b", "value": p.value("bytes", []byte{0xff, 0})}),
				op(set{"op": "OP_W", "key": "t", "value": p.value("bool", true)}),
				op(set{"op": "OP_W", "key": "j", "value": p.value("json", ` {"a" : [1.50, "\u0041"]} `), "version": version, "prev_version": p.value("string", "6")}),
				op(set{"op": "OP_APPEND", "key": "l", "value": p.value("int", int64(-3))}),
				op(set{"op": "OP_R", "key": "l", "value": p.list(p.value("int", int64(1)), p.value("string", "x"), p.list())}),
				op(set{"op": "OP_R", "key": "l", "value": p.value("json", "[1, 2]"), "kind": "DATA_LIST"}),
				op(set{"op": "OP_ADD", "key": "s", "value": p.value("int", int64(1))}),
				op(set{"op": "OP_REMOVE", "key": "s", "value": p.value("int", int64(1))}),
				op(set{"op": "OP_INC", "key": "n", "value": p.value("json", "1.5"), "kind": "DATA_COUNTER"}),
				op(set{"op": "OP_INSERT", "key": "r", "value": p.value("int", int64(1))}),
				op(set{"op": "OP_DELETE", "key": "r"}),
				op(set{"op": "OP_CAS", "key": "k", "expected": p.value("null", true), "value": p.value("int", int64(1)), "success": false, "seen": p.value("int", int64(2))}),
				op(set{"op": "OP_RANGE", "from": "", "to": "z", "desc": true, "limit": int64(2), "result": []protoreflect.Message{
					p.message("Row", set{"key": "a", "value": p.value("int", int64(1)), "version": version}), p.message("Row", set{"value": p.list()}),
				}}),
			},
		}),
		p.message("Record", set{"type": "TYPE_BEGIN", "txn": "p", "start": int64(10), "session": "s"}),
		p.message("Record", set{"type": "TYPE_OP", "txn": "p", "index": uint32(0), "ops": []protoreflect.Message{
			op(set{"op": "OP_W", "key": "x", "value": p.value("int", int64(1))}),
		}}),
		p.message("Record", set{"type": "TYPE_COMMIT", "txn": "p", "end": int64(20)}),
		p.message("Record", set{"type": "TYPE_ABORT", "txn": "q", "spread": true, "count": uint32(3)}),
		p.message("Record", set{"txn": "last", "status": "STATUS_UNKNOWN"}),
	)
	twin := `{"txn":"w12-9","source":"orders","epoch":"e","session":"w12","seq":-9,"status":"committed","start":1760000000123456789,"end":1760000000125456789,` +
		`"start_ts":-1,"commit_ts":5,"isolation":"REPEATABLE READ","stale":true,"name":"pay","trace_id":"4bf9","labels":{"app":"shop","empty":"","endpoint":"db-2"},"ops":[` +
		`{"op":"r","key":"a","found":false},{"op":"r","key":"b","value":null},{"op":"r","key":"c","value":null,"found":true},{"op":"w","key":"","value":"a\"\n"},` +
		`{"op":"w","key":"u","value":18446744073709551615},{"op":"w","key":"b","value":"/wA="},{"op":"w","key":"t","value":true},` +
		`{"op":"w","key":"j","value":{"a":[1.50,"A"]},"version":7,"prev_version":"6"},{"op":"append","key":"l","value":-3},` +
		`{"op":"r","key":"l","value":[1,"x",[]]},{"op":"r","key":"l","value":[1,2],"kind":"list"},{"op":"add","key":"s","value":1},` +
		`{"op":"remove","key":"s","value":1},{"op":"inc","key":"n","value":1.5,"kind":"counter"},{"op":"insert","key":"r","value":1},` +
		`{"op":"delete","key":"r"},{"op":"cas","key":"k","expected":null,"value":1,"success":false,"seen":2},` +
		`{"op":"range","from":"","to":"z","desc":true,"limit":2,"result":[{"key":"a","value":1,"version":7},{"key":"","value":[]}]}]}` + "\n" +
		`{"type":"begin","txn":"p","start":10,"session":"s"}` + "\n" +
		`{"type":"op","txn":"p","index":0,"op":"w","key":"x","value":1}` + "\n" +
		`{"type":"commit","txn":"p","end":20}` + "\n" + `{"type":"abort","txn":"q","spread":true,"count":3}` + "\n" + `{"txn":"last","status":"unknown","ops":[]}`
	var d Decoder
	var got, want Batch
	d.DecodeMessage(&got, Position{Offset: 7}, msg)
	d.DecodeMessage(&want, Position{Offset: 7}, []byte(twin))
	checkHashes(t, &got)
	checkRoundTrips(t, &got)
	if len(want.Bad) > 0 || len(want.Txns) != 2 {
		t.Fatal(show(&want))
	}
	if a, b := show(&got), show(&want); a != b {
		t.Errorf("%s\n---- the JSON twin\n%s", a, b)
	}
	for i := range want.Txns {
		if a, b := ContentHash(&got, &got.Txns[i]), ContentHash(&want, &want.Txns[i]); a != b {
			t.Errorf("transaction %d: content hash %x, that of the twin %x", i, a, b)
		}
		if got.Txns[i].Pos != want.Txns[i].Pos {
			t.Errorf("transaction %d: at %v, the twin at %v", i, got.Txns[i].Pos, want.Txns[i].Pos)
		}
	}
	// What the encoder here writes, the library reads with no field unknown to it.
	for i := range got.Txns {
		r := got.Record(&got.Txns[i])
		m := dynamicpb.NewMessage(p.file.Messages().ByName("Records"))
		if err := proto.Unmarshal(AppendProto(nil, &r), m); err != nil {
			t.Fatal(err)
		}
		again, err := proto.Marshal(m)
		if err != nil || strings.Contains(fmt.Sprint(m), "unknown") {
			t.Fatalf("%v: %v", err, m)
		}
		var back Batch
		d.DecodeMessage(&back, Position{}, again)
		if read := back.Record(&back.Txns[0]); !reflect.DeepEqual(read, r) {
			t.Errorf("by way of the library\n%+v, want\n%+v", read, r)
		}
	}
}

// The names that a dead letter shows are those of the published file.
func TestProtoNames(t *testing.T) {
	file := published(t)
	for message, names := range map[string][]string{"Record": recordNames, "Op": opNames, "Row": rowNames} {
		fields := file.Messages().ByName(protoreflect.Name(message)).Fields()
		if fields.Len() != len(names)-1 {
			t.Errorf("%s has %d fields, the decoder knows %d", message, fields.Len(), len(names)-1)
		}
		for i, name := range names[1:] {
			if f := fields.ByNumber(protoreflect.FieldNumber(i + 1)); f == nil || string(f.Name()) != name {
				t.Errorf("%s: field %d is %v, the decoder takes it for %s", message, i+1, f, name)
			}
		}
	}
}

// pf writes one field: n for a varint, a text or nested fields else.
func pf(num int, value any) []byte {
	switch v := value.(type) {
	case int:
		return appendProtoInt(nil, num, uint64(v), true)
	case string:
		return appendProtoText(nil, num, v, true)
	case []byte:
		return appendProtoText(nil, num, string(v), true)
	}
	panic("no such field")
}

func join(parts ...[]byte) []byte { return []byte(strings.Join(texts(parts), "")) }

func texts(parts [][]byte) []string {
	var out []string
	for _, p := range parts {
		out = append(out, string(p))
	}
	return out
}

type wrong struct {
	name   string
	msg    []byte
	reason string // "": none is wrong
}

// nestedLists is a Value of n lists within each other.
func nestedLists(n int) []byte {
	v := pf(2, 2)
	for range n {
		v = pf(5, pf(1, v))
	}
	return v
}

func wrongProto() []wrong {
	rec := func(fields ...[]byte) []byte { return pf(2, join(fields...)) }
	op := func(fields ...[]byte) []byte {
		return rec(pf(1, "t"), pf(2, 1), pf(9, join(fields...)))
	}
	value := func(v []byte) []byte { return op(pf(1, 2), pf(2, "k"), pf(3, v)) }
	return []wrong{
		{"nothing in it", rec(), "byte 0: txn is missing or empty"},
		{"no status", rec(pf(1, "t")), "byte 3: status 0 is not one of 1 (committed), 2 (aborted), 3 (unknown)"},
		{"unknown status", rec(pf(1, "t"), pf(2, 4)), "byte 5: status 4 is not one of 1 (committed), 2 (aborted), 3 (unknown)"},
		{"no operations", rec(pf(1, "t"), pf(2, 1)), ""},
		{"an unknown field", rec(pf(1, "t"), pf(2, 1), pf(1000, "x"), pf(63, 1), pf(64, 1)), ""},
		{"a field twice", rec(pf(1, "t"), pf(2, 1), pf(1, "u")), "byte 5: the field txn is given twice"},
		{"another wire type", rec(pf(1, 1)), "byte 0: txn has another wire type"},
		{"ops of another wire type", rec(pf(1, "t"), pf(2, 1), pf(9, 1)), "byte 5: ops has another wire type"},
		{"a field of an operation twice", op(pf(1, 2), pf(2, "k"), pf(2, "l")), "byte 12, ops[0]: the field key is given twice"},
		{"invalid UTF-8 in a name", rec(pf(1, "\xff")), "byte 2: invalid UTF-8"},
		{"invalid UTF-8 in a key", op(pf(1, 9), pf(2, "\xff")), "byte 11, ops[0]: invalid UTF-8"},
		{"invalid UTF-8 in a value", value(pf(3, "\xff")), "byte 16, ops[0]: invalid UTF-8"},
		{"invalid UTF-8 in JSON", value(pf(4, "\"\xff\"")), "byte 16, ops[0]: invalid UTF-8"},
		{"JSON that is none", value(pf(4, "{")), "byte 17, ops[0]: a field name is expected"},
		{"JSON and more", value(pf(4, "1 2")), "byte 18, ops[0]: text behind a value"},
		{"JSON with a name twice", value(pf(4, `{"a":1,"a":2}`)), "byte 23, ops[0]: the field \"a\" is given twice"},
		{"JSON of 29 arrays", value(pf(4, strings.Repeat("[", 29)+strings.Repeat("]", 29))), ""},
		{"JSON of 30 arrays", value(pf(4, strings.Repeat("[", 30)+strings.Repeat("]", 30))), "byte 45, ops[0]: nested more than 32 deep"},
		{"29 lists", value(nestedLists(29)), ""},
		{"30 lists", value(nestedLists(30)), "byte 133, ops[0]: nested more than 32 deep"},
		{"a value that is none", value(nil), "byte 14, ops[0]: a value that is none"},
		{"two values in one", value(join(pf(2, 2), pf(3, "a"))), "byte 16, ops[0]: a value is given twice"},
		{"null that is false", value(pf(1, 0)), "byte 14, ops[0]: null is false"},
		{"a value of another wire type", value(pf(3, 1)), "byte 14, ops[0]: a value has another wire type"},
		{"no op", op(pf(2, "k")), "byte 10, ops[0]: op 0 is not one of 1 to 10"},
		{"unknown op", op(pf(1, 11)), "byte 9, ops[0]: op 11 is not one of 1 to 10"},
		{"unknown kind", op(pf(1, 9), pf(5, 5)), "byte 11, ops[0]: kind 5 is not one of 1 to 4"},
		{"a write without a value", op(pf(1, 2)), "byte 9, ops[0]: value is missing"},
		{"a read without an answer", op(pf(1, 1)), "byte 9, ops[0]: a read without value or \"found\":false: leave out reads that were not answered"},
		{"not found and a value", op(pf(1, 1), pf(4, 0), pf(3, pf(2, 2))), "byte 13, ops[0]: found is false, and yet there is a value"},
		{"inc by a text", op(pf(1, 6), pf(3, pf(3, "1"))), "byte 11, ops[0]: the value of inc is not a number"},
		{"a version that is a list", op(pf(1, 9), pf(6, pf(5, ""))), "byte 11, ops[0]: version is neither a string nor a number"},
		{"cas without success", op(pf(1, 7), pf(3, pf(2, 2)), pf(8, pf(2, 2))), "byte 17, ops[0]: success is missing"},
		{"cas without expected", op(pf(1, 7), pf(3, pf(2, 2)), pf(10, 1)), "byte 15, ops[0]: expected is missing"},
		{"a row without a value", op(pf(1, 10), pf(15, pf(1, "a"))), "byte 14, ops[0]: a row of a result needs key and value"},
		{"a row whose version is a list", op(pf(1, 10), pf(15, join(pf(2, pf(2, 2)), pf(3, pf(5, ""))))), "byte 17, ops[0]: version is neither a string nor a number"},
		{"a limit below 1", op(pf(1, 10), pf(14, -1)), "byte 20, ops[0]: limit is below 1"},
		{"an unknown type", rec(pf(1, "t"), pf(16, 6)), "byte 6: type 6 is not one of 0 to 5"},
		{"a piece without its operation", rec(pf(1, "t"), pf(16, 2), pf(17, 0)), "byte 9: 0 operations in a record of one"},
		{"a piece without index", rec(pf(1, "t"), pf(16, 2), pf(9, pf(1, 9))), "byte 10: index is missing"},
		{"a piece of a high index", rec(pf(1, "t"), pf(16, 2), pf(17, MaxOps), pf(9, pf(1, 9))), "byte 15: index is not within 0 and 99999"},
		{"a begin with an operation", rec(pf(1, "t"), pf(16, 1), pf(9, pf(1, 9))), "byte 10: ops in a record with a type: a whole transaction has none"},
		{"spread without count", rec(pf(1, "t"), pf(16, 3), pf(19, 1)), "byte 9: count is missing: the pieces are spread"},
		{"a high count", rec(pf(1, "t"), pf(16, 3), pf(18, MaxOps+1)), "byte 11: count is not within 0 and 100000"},
		{"end before start", rec(pf(1, "t"), pf(2, 1), appendProtoTime(nil, 7, 2, true), appendProtoTime(nil, 8, 1, true)), "byte 23: end is before start"},
		{"a group", []byte{protoTag, 1, 1<<3 | 3}, "byte 0: a wire type that is not read"},
		{"field number 0", []byte{protoTag, 2, 0, 0}, "byte 0: no field number"},
		{"an integer without end", []byte{protoTag, 2, 2 << 3, 0x80}, "byte 1: the message ends within an integer, or it is beyond 64 bits"},
		{"a fixed integer cut short", []byte{protoTag, 2, 7<<3 | 1, 0}, "byte 0: the message ends within a field"},
		{"a record cut short", []byte{protoTag, 9, 1}, "byte 0: a field is longer than its message"},
		{"longer than 16 MiB", rec(pf(1, "t"), pf(2, 1), pf(1000, strings.Repeat("x", MaxRecord))), "byte 16777216: the record is longer than 16 MiB"},
		{"100001 operations", rec(pf(1, "t"), pf(2, 1), []byte(strings.Repeat(string(pf(9, pf(1, 9))), MaxOps+1))),
			"byte 400007, ops[100000]: more than 100000 operations"},
		{"100000 operations", rec(pf(1, "t"), pf(2, 1), []byte(strings.Repeat(string(pf(9, pf(1, 9))), MaxOps))), ""},
	}
}

func TestProtoLimits(t *testing.T) {
	for _, c := range wrongProto() {
		var d Decoder
		var b Batch
		d.DecodeMessage(&b, Position{Offset: 3}, c.msg)
		checkRoundTrips(t, &b)
		switch {
		case c.reason == "" && (len(b.Txns) != 1 || len(b.Bad) != 0):
			t.Errorf("%s: %+v", c.name, b.Bad)
		case c.reason != "" && (len(b.Txns)+len(b.Parts) != 0 || len(b.Bad) != 1):
			t.Errorf("%s: %d transactions, %d parts, %d dead letters", c.name, len(b.Txns), len(b.Parts), len(b.Bad))
		case c.reason != "" && b.Bad[0].Reason != c.reason:
			t.Errorf("%s: %q, want %q", c.name, b.Bad[0].Reason, c.reason)
		case c.reason != "" && len(b.Ops)+len(b.Elems)+len(b.Rows)+len(b.Extras) != 0:
			t.Errorf("%s: something is left of it", c.name)
		}
	}
}

// A bad record leaves those around it alone.
func TestProtoBesideBad(t *testing.T) {
	good := func(id string) []byte { return pf(2, join(pf(1, id), pf(2, 1))) }
	var d Decoder
	var b Batch
	d.DecodeMessage(&b, Position{Offset: 5}, join(good("a"), pf(2, pf(2, 1)), good("b"), pf(7, "unknown"), []byte{protoTag, 50, 1}))
	want := `{"txn":"a","status":"committed","ops":[]}` + "\n" + `{"txn":"b","status":"committed","ops":[]}` +
		"\nbad 5#1 byte 2: txn is missing or empty\nbad 5#3 byte 27: a field is longer than its message"
	if got := show(&b); got != want {
		t.Errorf("%s\n---- want\n%s", got, want)
	}
}

func TestProtoAllocatesNothing(t *testing.T) {
	from := decodeOne(t, string(benchRecords()["full"]))
	r := from.Record(&from.Txns[0])
	msg := join(AppendProto(nil, &r), pf(2, join(pf(1, "t"), pf(2, 1),
		pf(9, join(pf(1, 1), pf(2, "l"), pf(3, pf(5, join(pf(1, pf(2, 2)), pf(1, pf(3, "x"))))))),
		pf(9, join(pf(1, 10), pf(15, pf(2, pf(4, "[1 , 2]"))))))))
	var d Decoder
	var b Batch
	if n := testing.AllocsPerRun(100, func() {
		b.Reset()
		d.DecodeMessage(&b, Position{}, msg)
	}); n > 0 || len(b.Bad) > 0 || len(b.Txns) != 2 {
		t.Errorf("%v allocations, %s", n, show(&b))
	}
}

func TestRecordsPrefix(t *testing.T) {
	one := pf(2, strings.Repeat("x", 200))
	for n := range len(one) {
		if got := RecordsPrefix(one[:n]); got != 0 {
			t.Errorf("%d bytes of %d: %d", n, len(one), got)
		}
	}
	for _, c := range []struct {
		data []byte
		want int
	}{
		{one, len(one)}, {append(one, protoTag), len(one)}, {[]byte("{}"), -1}, {[]byte{protoTag, 0}, 2},
		{[]byte{protoTag, 0xff, 0xff, 0xff, 0xff, 0x0f}, -1},
		{[]byte{protoTag, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -1},
	} {
		if got := RecordsPrefix(c.data); got != c.want {
			t.Errorf("%x: %d, want %d", c.data, got, c.want)
		}
	}
}
