package isolation

// Setting is a product at one of its settings, and what stands for it.
type Setting struct {
	Product, Name string
	Level         Level
	Rules         Rules
}

// String is the setting as --expect takes it.
func (s Setting) String() string { return s.Product + "/" + s.Name }

// Settings are the settings of the product, from weak to strong; of all products for "". nil:
// there is no such product.
func Settings(name string) []Setting {
	name = productName(name)
	var list []Setting
	for i := range products {
		for _, x := range products[i].settings {
			if name == "" || products[i].name == name {
				list = append(list, Setting{products[i].name, x.setting, x.level, x.rules})
			}
		}
	}
	return list
}
