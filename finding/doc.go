// Package finding holds a finding as data: the record that every output prints, and the witness
// that it rests on. The witness speaks of the recorded operations. The packages that find,
// name, explain, verify and print findings share only these types.
package finding
