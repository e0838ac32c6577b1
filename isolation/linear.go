package isolation

// NameLinear names what refutes linearizability: the operations on one key have no
// order in which each takes effect between its call and its return.
func NameLinear() Name {
	return Name{
		Anomaly: "nonlinearizable", Title: anomalies["nonlinearizable"].title, Kind: KindViolation,
		Weakest: []Level{{Special: Linearizable}}, Severity: severity(classG2, Strong),
	}
}
