package config

import (
	"slices"

	"github.com/isowatch/isowatch/internal/isolation"
)

// Some rules are about several keys together. They are said only of parts that stand in lists: the chart
// lays parts of others, such as http, over each other.

// ruled is a part with such rules.
type ruled interface{ rules() []object }

// given says that the keys are there, one or several, and not empty.
func given(keys ...string) object {
	values := object{}
	for _, key := range keys {
		empty := []any{nil, "", []any{}}
		if key == "stdin" {
			empty = []any{false, "false"}
		}
		values[key] = not(object{"enum": empty})
	}
	return object{"required": keys, "properties": values}
}

func not(x object) object { return object{"not": x} }

func either(all ...object) object { return object{"anyOf": all} }

func ifThen(x, y object) object { return object{"if": x, "then": y} }

// together: both keys or none.
func together(a, b string) []object {
	return []object{ifThen(given(a), given(b)), ifThen(given(b), given(a))}
}

// onlyOne of the keys, and not none.
func onlyOne(keys ...string) object {
	var all []object
	for _, key := range keys {
		all = append(all, given(key))
	}
	return object{"oneOf": all}
}

func oneOfOrEmpty(key string, values ...string) object {
	return object{"properties": object{key: object{"enum": append([]string{""}, values...)}}}
}

// notBoth: the secret is in a file or in a variable.
func notBoth(key string) object { return not(given(key+"-file", key+"-env")) }

func secret(key string) object { return either(given(key+"-file"), given(key+"-env")) }

func (i *Input) rules() []object { return []object{onlyOne(keys(i.fields())...)} }

func (s *Sink) rules() []object { return []object{onlyOne(optionKeys(s.fields())...)} }

func (s *Source) rules() []object { return []object{given("name")} }

func (n *NATS) rules() []object { return append(n.loginRules(), given("urls", "stream")) }

func (n *NATSSink) rules() []object { return append(n.loginRules(), given("urls", "subject")) }

func (n *NATS) loginRules() []object {
	return append(together("cert-file", "key-file"), ifThen(given("password-file"), given("user")))
}

func (k *Kafka) rules() []object {
	return append(k.loginRules(), given("brokers", "topics"), oneOfOrEmpty("unit", UnitTopic, UnitPartition))
}

func (k *KafkaSink) rules() []object { return append(k.loginRules(), given("brokers", "topic")) }

func (k *Kafka) loginRules() []object {
	return append(together("cert-file", "key-file"), notBoth("password"), oneOfOrEmpty("sasl", mechanisms...),
		ifThen(either(given("user"), secret("password")), given("sasl")),
		ifThen(given("sasl"), object{"allOf": []object{given("user"), secret("password")}}))
}

func (w *Webhook) rules() []object {
	return []object{onlyOne("url", "url-file", "url-env"), notBoth("secret")}
}

func (a *Alertmanager) rules() []object {
	return []object{given("urls"), ifThen(given("user"), secret("password")), ifThen(secret("password"), given("user")), notBoth("password"), notBoth("token")}
}

func (f *FileSink) rules() []object { return []object{given("path")} }

func (p *Probe) rules() []object {
	return []object{given("url"), notBoth("password"), ifThen(given("expect"), object{"properties": object{"expect": ref("expected")}})}
}

// definitions are the parts that several values refer to. Where a name is wrong, some are offered: an error
// would quote the whole pattern.
func definitions() object {
	level, setting := isolation.LevelPattern(), isolation.SettingPattern()
	some := isolation.LevelNames(isolation.Watched())
	named := func(pattern string, some []string) object {
		return object{"type": "string", "if": object{"pattern": pattern}, "else": object{"enum": some}}
	}
	return object{
		"expected": named(`^\s*(`+level+`|`+setting+`)\s*$`, slices.Concat(some, isolation.SettingNames())),
		// One text may name several: those are left to Parse.
		"levels": named(`,|^\s*(`+level+`|[dD][eE][fF][aA][uU][lL][tT]|[aA][lL][lL])\s*$`, append(some, "default", "all")),
	}
}

func ref(name string) object { return object{"$ref": "#/definitions/" + name} }
