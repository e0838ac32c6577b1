// Package finding holds what a finding is, as data: the record that every output prints,
// and the witness that it rests on, in terms of the recorded operations. What finds, names,
// explains, verifies and prints findings shares these and nothing else.
package finding
