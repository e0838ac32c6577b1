package config

// Source is a database whose promise is checked on its own.
type Source struct {
	Name  string
	Watch Watch // begins as the service's
	// Inputs are those whose records are of this source where they name none.
	Inputs []Input
	// OwnInputs says that no record in them is of another source. So what they lose was of this one.
	OwnInputs bool
}

func (s *Source) fields() []field {
	return append([]field{{"name", text{&s.Name}}, {"inputs", several(&s.Inputs, nil)}, {"own-inputs", truth{&s.OwnInputs}}}, s.Watch.fields()...)
}
