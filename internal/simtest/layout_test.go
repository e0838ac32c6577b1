package simtest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isowatch/isowatch/internal/flat"
	"github.com/isowatch/isowatch/internal/oracle"
)

// TestRestartInAnotherLayout: a machine is restarted before every step from a snapshot whose values
// have another layout: each field stands elsewhere, and numbers have another size. It goes on as one that is not restarted.
func TestRestartInAnotherLayout(t *testing.T) {
	t.Parallel()
	for i := range twinSeeds(t, 100) {
		rng := rand.New(rand.NewPCG(uint64(i), 22))
		h := oracle.Random(rng, oracle.Wide())
		cfg := windowed(rng)
		fails := func(h oracle.History, perm []int) string { return restarts(t, cfg, batchOf(t, h, perm), reshaped) }
		perm := arrival(rng, len(h))
		if why := fails(h, perm); why != "" {
			report(t, i, h, perm, why, fails)
		}
	}
}

// reshaped is a state in another layout: of each value the fields stand in the opposite order,
// behind four bytes of nothing, and integers have eight bytes.
func reshaped(t *testing.T, state []byte) (out []byte) {
	t.Helper()
	r := flat.Reader{Bytes: state}
	for len(r.Bytes) > 0 {
		name, fields, memory, n, err := section(&r)
		if err != nil {
			t.Fatal(err)
		}
		size, parts := layoutOf(t, fields)
		text := make([]string, 0, len(parts))
		at := 4
		for k := len(parts) - 1; k >= 0; k-- {
			p := &parts[k]
			p.to, p.width = at, p.size
			if p.kind != 'f' && p.kind != 'b' {
				p.width = 8
			}
			at += p.width * p.count
			text = append(text, fmt.Sprintf("%s %c%d*%d@%d", p.name, p.kind, p.width, p.count, p.to))
		}
		fields = fmt.Sprintf("%d,%s", at, strings.Join(text, ","))
		out = append(binary.AppendUvarint(out, uint64(len(name))), name...)
		out = append(binary.AppendUvarint(out, uint64(len(fields))), fields...)
		out = binary.AppendUvarint(out, uint64(n))
		for i := range n {
			out = append(out, reshapedValue(memory[i*size:][:size], parts, at)...)
		}
	}
	return out
}

// part is a field of a value, and where it stands in the other layout.
type part struct {
	name                string
	kind                byte
	size, count, offset int
	to, width           int
}

func reshapedValue(v []byte, parts []part, size int) []byte {
	out := make([]byte, size)
	for i := range parts {
		p := &parts[i]
		for k := range p.count {
			from := v[p.offset+k*p.size:][:p.size]
			to := out[p.to+k*p.width:][:p.width]
			copy(to, from) // tests run on little-endian machines
			if p.kind == 'i' && from[p.size-1]&0x80 != 0 {
				for j := p.size; j < p.width; j++ {
					to[j] = 0xff
				}
			}
		}
	}
	return out
}

// section reads one section of a state, as package flat documents it.
func section(r *flat.Reader) (name, fields string, memory []byte, n int, err error) {
	number := func() int {
		n, k := binary.Uvarint(r.Bytes)
		if k <= 0 || err != nil {
			err = fmt.Errorf("no number at %d bytes from the end", len(r.Bytes))
			return 0
		}
		r.Bytes = r.Bytes[k:]
		return int(n)
	}
	take := func(n int) (b []byte) {
		if n > len(r.Bytes) && err == nil {
			err = fmt.Errorf("%d bytes of %d", n, len(r.Bytes))
		}
		if err != nil {
			return nil
		}
		b, r.Bytes = r.Bytes[:n], r.Bytes[n:]
		return b
	}
	name = string(take(number()))
	fields = string(take(number()))
	n = number()
	var size int
	fmt.Sscanf(fields, "%d", &size)
	memory = take(n * size)
	return name, fields, memory, n, err
}

func layoutOf(t *testing.T, fields string) (size int, parts []part) {
	t.Helper()
	for i, text := range strings.Split(fields, ",") {
		if i == 0 {
			fmt.Sscanf(text, "%d", &size)
			continue
		}
		name, rest, _ := strings.Cut(text, " ")
		p := part{name: name}
		if _, err := fmt.Sscanf(rest, "%c%d*%d@%d", &p.kind, &p.size, &p.count, &p.offset); err != nil {
			t.Fatalf("field %q: %v", text, err)
		}
		parts = append(parts, p)
	}
	return size, parts
}
