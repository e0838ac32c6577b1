package probe

// Statements are all statements that a workload may run on the tables. They make the tables, or
// are in its transactions. The place of a parameter tells its meaning.
func (d *Dialect) Statements() []string {
	var all []string
	for _, s := range d.Reset {
		all = append(all, d.text(s))
	}
	texts := d.texts()
	for _, s := range []string{
		readRegister, updateRegister, upsertRegister, insertRegister, deleteRegister, rangeRegisters,
		readList, appendList, deleteList, readCounted, insertCounter, countCounter,
	} {
		all = append(all, texts[s])
	}
	if !d.Returning {
		all = append(all, texts[readVersion])
	}
	return all
}
