package config

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a lease.
const (
	DefaultLease = 6 * time.Second
	LeastLease   = time.Second
)

// Group is a group of monitors that share their inputs.
type Group struct {
	Name   string        // "": this monitor stands alone
	State  string        // URL of the store of the group
	Lease  time.Duration // how long a member that is gone keeps its units
	Member string        // "": the name of the host
	// Address is the URL at which other members reach this one's pages; "": at the address of http.
	Address string
	// CAFile has the authorities that sign the certificates of members' pages; "": the system's own. ServerName is the
	// name in the certificates; "": the address.
	CAFile, ServerName string
	// CertFile and KeyFile hold the certificate of a member for others whose pages ask for one.
	CertFile, KeyFile string
}

func (g *Group) fields() []field {
	return []field{
		{"name", text{&g.Name}}, {"state", storeURL{&g.State}}, {"lease", period{&g.Lease}}, {"member", text{&g.Member}}, {"address", text{&g.Address}},
		{"ca-file", text{&g.CAFile}}, {"server-name", text{&g.ServerName}},
		{"cert-file", text{&g.CertFile}}, {"key-file", text{&g.KeyFile}},
	}
}

// isGroupName says whether s is good as a part of keys, folders and subjects.
func isGroupName(s string) bool { return isName(s, 50, "_-") }

func (s *Service) validateGroup(f *faults) {
	g := &s.Group
	if g.Name == "" {
		if g.State != "" || g.Member != "" || g.Address != "" || g.Lease != DefaultLease {
			f.add("group", "group: it has no name: give it one with --group NAME, or leave out the other settings of a group")
		}
		return
	}
	if !isGroupName(g.Name) {
		f.add("group.name", "group %q: want at most 50 letters, digits, underscores and hyphens", g.Name)
	}
	if g.Member != "" && !isReplicaName(g.Member) {
		f.add("group.member", "group member %q: want at most 100 letters, digits, dots, underscores and hyphens", g.Member)
	}
	if u, err := url.Parse(g.Address); g.Address != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.TrimRight(u.Path, "/") != "") {
		f.add("group.address", "group address: want http://HOST:PORT or https://HOST:PORT, where other members reach the pages of this one")
	} else if g.Address != "" && s.HTTP.Address == Off {
		f.add("group.address", "group address: this member has no pages: leave it out, or name their address with --http")
	}
	if g.Lease < LeastLease {
		f.add("group.lease", "group lease %v: at least %v", g.Lease, LeastLease)
	}
	if err := CheckGroupState(g.State); err != "" {
		f.add("group.state", "%s", err)
	}
	if (g.CertFile == "") != (g.KeyFile == "") {
		f.add("group.cert-file", "group: cert-file and key-file go together")
	}
	if s.HTTP.ClientCAFile != "" && g.CertFile == "" {
		f.add("group.cert-file", "group: with http.client-ca-file members let each other in only with a certificate: name theirs in group.cert-file and group.key-file")
	}
	if s.SelfTest > 0 {
		f.add("self-test", "self-test: members of a group have none: leave one of the two out")
	}
	if s.UsesEmbedded() {
		f.add("group", "group: its members share inputs: name NATS streams or Kafka topics. The NATS server inside a process is not shared")
	}
	seen := map[string]bool{}
	for _, x := range s.placed() {
		if x.NATS == nil && x.Kafka == nil {
			f.add(x.path, "group: members share NATS streams and Kafka topics only: standard input, files and probes belong to one process")
		}
		names := x.Input.Names() // of topics: their partitions are not known
		if x.NATS != nil {
			names = nil
			for _, u := range unitsOf(x.Input) {
				names = append(names, u.Name)
			}
		}
		for _, name := range names {
			if seen[name] {
				f.add(x.path, "group: two inputs are the unit %s: each unit needs a name of its own", name)
			}
			seen[name] = true
		}
	}
}

// mostReplicas is how many copies of a bucket a server of NATS allows.
const mostReplicas = 5

// CheckGroupState says what is wrong with the URL of a group's store; "": nothing. It asks no server.
func CheckGroupState(state string) string {
	const any = "nats://HOST/BUCKET, s3://BUCKET/PREFIX or file:///DIR"
	if state == "" {
		return "group: it needs a store: name one with --group-state, as " + any
	}
	want := any
	u, err := url.Parse(state)
	switch {
	case err != nil:
	case u.Scheme == "file":
		if want = "file:///DIR, with the folder from the root on"; u.Host == "" && path.IsAbs(u.Path) && u.RawQuery == "" {
			return ""
		}
	case u.Scheme == "s3":
		if want = "s3://BUCKET/PREFIX, with the login in the usual variables"; u.Host != "" && u.RawQuery == "" && u.User == nil {
			return ""
		}
	case u.Scheme == "nats":
		want = fmt.Sprintf("nats://HOST/BUCKET, with several hosts as HOST,HOST and at most %d copies as ?replicas=N", mostReplicas)
		if isBucketURL(u) {
			return ""
		}
	}
	return fmt.Sprintf("group state %q: want %s", ShownState(state), want)
}

// isBucketURL says whether u names servers, a bucket and no more copies than there can be.
func isBucketURL(u *url.URL) bool {
	bucket, options := strings.TrimPrefix(u.Path, "/"), u.Query()
	if options.Has("replicas") {
		if n, err := strconv.Atoi(options.Get("replicas")); err != nil || n < 1 || n > mostReplicas {
			return false
		}
		options.Del("replicas")
	}
	return !slices.Contains(strings.Split(u.Host, ","), "") && bucket != "" && !strings.ContainsAny(bucket, "/. ") && len(options) == 0
}

// ShownState is the URL of a store without its login.
func ShownState(state string) string {
	i := strings.LastIndexByte(state, '@')
	if i < 0 {
		return state
	}
	if scheme, _, ok := strings.Cut(state[:i], "://"); ok {
		return scheme + "://" + Masked + state[i:]
	}
	return Masked + state[i:]
}

// Unit is a part of the inputs that moves between members as a whole.
type Unit struct {
	Name  string
	input Input
}

// unitsOf divides an input: a stream, a subject filter of one, or a topic. The partitions of a topic are not known here.
func unitsOf(in *Input) (all []Unit) {
	switch {
	case in.NATS != nil && len(in.NATS.Subjects) == 0:
		return []Unit{{"nats:" + in.NATS.Stream, *in}}
	case in.NATS != nil:
		for _, subject := range in.NATS.Subjects {
			n := *in.NATS
			n.Subjects = []string{subject}
			x := *in
			x.NATS = &n
			all = append(all, Unit{"nats:" + n.Stream + ":" + subject, x})
		}
	case in.Kafka != nil && in.Kafka.Partition != nil:
		return []Unit{{PartitionUnit(in.Kafka.Topics[0], *in.Kafka.Partition), *in}}
	case in.Kafka != nil && in.Kafka.Unit != UnitPartition:
		for _, topic := range in.Kafka.Topics {
			all = append(all, Unit{"kafka:" + topic, in.ofTopic(topic, nil)})
		}
	}
	return all
}

// PartitionUnit is the name of the unit that is one partition of a topic.
func PartitionUnit(topic string, partition int) string {
	return fmt.Sprintf("kafka:%s/%d", topic, partition)
}

// ofTopic is the input with one topic, or one partition of it.
func (i *Input) ofTopic(topic string, partition *int) Input {
	k := *i.Kafka
	k.Topics, k.Partition = []string{topic}, partition
	x := *i
	x.Kafka = &k
	return x
}

// partitionOf is the part of the input that is the unit of this name, if the unit is a partition of it.
func (i *Input) partitionOf(name string) (Input, bool) {
	if i.Kafka == nil || i.Kafka.Unit != UnitPartition || i.Kafka.Partition != nil {
		return Input{}, false
	}
	for _, topic := range i.Kafka.Topics {
		number, ok := strings.CutPrefix(name, "kafka:"+topic+"/")
		if n, err := strconv.Atoi(number); ok && err == nil && PartitionUnit(topic, n) == name && n >= 0 {
			return i.ofTopic(topic, &n), true
		}
	}
	return Input{}, false
}

// Partitioned are the inputs of Kafka whose partitions are units.
func (s *Service) Partitioned() (all []*Kafka) {
	for _, x := range s.placed() {
		if x.Kafka != nil && x.Kafka.Unit == UnitPartition {
			all = append(all, x.Kafka)
		}
	}
	return all
}

// Units are the units of a group, in the order of their names. Partitions of topics are not among them.
func (s *Service) Units() (names []string) {
	for _, x := range s.placed() {
		for _, u := range unitsOf(x.Input) {
			names = append(names, u.Name)
		}
	}
	slices.Sort(names)
	return names
}

// OfUnit is s with the inputs of one unit only; nil if there is no such unit.
func (s *Service) OfUnit(name string) *Service {
	next, found := *s, false
	only := func(inputs []Input) (kept []Input) {
		for i := range inputs {
			for _, u := range unitsOf(&inputs[i]) {
				if u.Name == name {
					kept, found = append(kept, u.input), true
				}
			}
			if part, ok := inputs[i].partitionOf(name); ok {
				kept, found = append(kept, part), true
			}
		}
		return kept
	}
	next.Inputs = only(s.Inputs)
	next.Sources = slices.Clone(s.Sources)
	for i := range next.Sources {
		next.Sources[i].Inputs = only(s.Sources[i].Inputs)
	}
	next.Group = Group{Lease: DefaultLease}
	if !found {
		return nil
	}
	return &next
}
