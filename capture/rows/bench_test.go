package rows

import "testing"

// What the text of a statement costs, beside its round trip.
func BenchmarkText(b *testing.B) {
	t := Table{Name: "stock", Key: "product", Columns: []string{"n"}, Version: XMin}
	args := []any{"apple", 5}
	b.ReportAllocs()
	for b.Loop() {
		_ = t.updateText(args).String()
	}
}
