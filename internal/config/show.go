package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// YAML is everything that is in effect, in the form that [Parse] reads. Secrets are
// not in a configuration, but URLs may hold some: [MaskURL].
func (s *Service) YAML() ([]byte, error) {
	text, err := yaml.Marshal(nodeOf(s))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return text, nil
}

func nodeOf(t tree) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range t.fields() {
		if value := valueOf(f.to); value != nil {
			n.Content = append(n.Content, scalar(f.key), value)
		}
	}
	return n
}

// valueOf is nil for what is not set.
func valueOf(to any) *yaml.Node {
	switch to := to.(type) {
	case leaf:
		if text := to.String(); text != "" {
			return scalar(text)
		}
	case listing:
		if len(*to.to) == 0 {
			return nil
		}
		texts := slices.Clone(*to.to)
		for i := range texts {
			if to.shown != nil {
				texts[i] = to.shown(texts[i])
			}
		}
		return list(texts)
	case tree:
		return nodeOf(to)
	case option:
		if part := to.get(); part != nil {
			return nodeOf(part)
		}
	case many:
		if to.len() == 0 {
			return nil
		}
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range to.len() {
			n.Content = append(n.Content, nodeOf(to.get(i)))
		}
		return n
	}
	return nil
}

// scalar is text as it stands, since it is read so: 60s and yes need no quotes.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if n.ShortTag() == "!!null" {
		n.SetString(text)
	}
	return n
}

func list(texts []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, text := range texts {
		n.Content = append(n.Content, scalar(text))
	}
	return n
}
