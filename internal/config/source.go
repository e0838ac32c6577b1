package config

// Source is a database whose promise is checked on its own.
type Source struct {
	Name  string
	Watch Watch // begins as the service's
	// Inputs are those whose records are of this source where they name none.
	Inputs []Input
}

func (s *Source) fields() []field {
	return append([]field{{"name", text{&s.Name}}, {"inputs", several(&s.Inputs, nil)}}, s.Watch.fields()...)
}
