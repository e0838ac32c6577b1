package record

import "slices"

// LabelNames are the names of labels in their order.
func LabelNames(labels map[string]string) []string {
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func appendLabels(dst []byte, labels map[string]string) []byte {
	if len(labels) == 0 {
		return dst
	}
	dst = append(appendField(dst, "labels"), '{')
	for i, name := range LabelNames(labels) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendQuoted(dst, name), ':')
		dst = AppendQuoted(dst, labels[name])
	}
	return append(dst, '}')
}
