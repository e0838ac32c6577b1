package oracle

// components numbers the strongly connected components of n nodes from 1
// (Kosaraju: a second search over the reversed edges, in the reverse order of
// finishing the first). It recurses, which Go's growing stacks allow.
func components(n int, edges []Edge) []int {
	out, in := make([][]int, n), make([][]int, n)
	for _, e := range edges {
		out[e.From] = append(out[e.From], e.To)
		in[e.To] = append(in[e.To], e.From)
	}
	var finished []int
	seen := make([]bool, n)
	var forward func(int)
	forward = func(v int) {
		seen[v] = true
		for _, w := range out[v] {
			if !seen[w] {
				forward(w)
			}
		}
		finished = append(finished, v)
	}
	for v := range n {
		if !seen[v] {
			forward(v)
		}
	}
	component := make([]int, n)
	count := 0
	var backward func(int)
	backward = func(v int) {
		component[v] = count
		for _, w := range in[v] {
			if component[w] == 0 {
				backward(w)
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		if v := finished[i]; component[v] == 0 {
			count++
			backward(v)
		}
	}
	return component
}
