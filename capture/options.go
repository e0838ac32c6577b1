package capture

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/isowatch/isowatch/event/record"
)

const (
	// DefaultQueue is how many bytes of records wait for the sink at most.
	DefaultQueue = 16 << 20
	// DefaultMaxRecord is the longest record in bytes. Brokers take messages of
	// 1 MB if nobody changed that.
	DefaultMaxRecord = 900 << 10
	// MinKey is the shortest key for hashing, in bytes.
	MinKey = 16
)

// Options say how transactions are recorded. Zero fields take the default named.
type Options struct {
	Source string // the database whose promise is checked; must not be empty
	Epoch  string // a run, a restore: keys and sessions never cross epochs; "" is one too

	Key         []byte // for hashing, the same in all processes of the source; at least MinKey bytes
	PlainValues bool   // values are not hashed; Key is not needed
	HashedKeys  bool   // keys are hashed, behind their table; see WithHashedKeys

	OneIn int                     // of how many keys one is recorded; 0 and 1: all
	Group func(key string) string // keys of one group are sampled together; nil: each by itself

	Queue     int // bytes of records that wait at most; 0: DefaultQueue
	MaxRecord int // bytes of a record at most; 0: DefaultMaxRecord
}

// Option changes one of the [Options].
type Option func(*Options)

// WithKey gives the secret with which values are hashed. All processes that record
// the same source need the same one, or a value read in one is not that written in
// another. Each source hashes differently with it.
func WithKey(secret []byte) Option { return func(o *Options) { o.Key = secret } }

// WithPlainValues leaves values as they are: for tests, and for data that whoever
// reads the findings may see.
func WithPlainValues() Option { return func(o *Options) { o.PlainValues = true } }

// WithHashedKeys hashes keys too. The part before the first slash stays: it is the table, by
// which the monitor groups keys. The order of keys is lost. So a range is recorded as reads of
// the rows it returned. The absence of other rows is not checked.
func WithHashedKeys() Option { return func(o *Options) { o.HashedKeys = true } }

// WithEpoch names a run, a restore or a failover reset.
func WithEpoch(name string) Option { return func(o *Options) { o.Epoch = name } }

// WithSampling records the operations on one in n keys, and leaves out all others. The key's
// CRC-32 (IEEE) decides, so the choice is the same in every process. A transaction without an
// operation on a recorded key has no record.
//
// Sampling is sound, and dropping transactions is not. The records hold all that happened to
// these keys, so an anomaly among them is the database's. An anomaly that needs two keys is
// found if both are in the sample. [WithSamplingBy] keeps them together.
func WithSampling(n int) Option { return WithSamplingBy(n, nil) }

// WithSamplingBy is [WithSampling] by groups of keys: group names the one of a key,
// such as the customer that it belongs to. It must say the same in every process.
func WithSamplingBy(n int, group func(key string) string) Option {
	return func(o *Options) { o.OneIn, o.Group = n, group }
}

// WithQueue bounds the records that wait for the sink, in bytes. They take that much
// memory while the sink is away.
func WithQueue(bytes int) Option { return func(o *Options) { o.Queue = bytes } }

// WithMaxRecord bounds one record, in bytes: a longer one is dropped. Brokers bound
// their messages.
func WithMaxRecord(bytes int) Option { return func(o *Options) { o.MaxRecord = bytes } }

// check says what is wrong with o, and sets the defaults.
func (o *Options) check() error {
	o.Queue, o.MaxRecord = cmp.Or(o.Queue, DefaultQueue), cmp.Or(o.MaxRecord, DefaultMaxRecord)
	switch {
	case o.Source == "":
		return errors.New("capture: the source has no name: name the database")
	case !o.PlainValues && len(o.Key) == 0:
		return errors.New("capture: no key to hash values with: give WithKey, the same in all processes, or WithPlainValues")
	case (!o.PlainValues || o.HashedKeys) && len(o.Key) < MinKey:
		return fmt.Errorf("capture: the key to hash with has %d bytes, at least %d are needed", len(o.Key), MinKey)
	case o.OneIn < 0 || o.OneIn > math.MaxInt32:
		return fmt.Errorf("capture: one in %d keys cannot be sampled", o.OneIn)
	case o.MaxRecord < 0 || o.MaxRecord > record.MaxRecord:
		return fmt.Errorf("capture: a record of %d bytes is beyond %d, the most that the monitor reads", o.MaxRecord, record.MaxRecord)
	case o.Queue < o.MaxRecord:
		return fmt.Errorf("capture: a queue of %d bytes holds no record of %d", o.Queue, o.MaxRecord)
	}
	return nil
}

// samples says whether operations on the key are recorded.
func (o *Options) samples(key string) bool {
	if o.OneIn < 2 {
		return true
	}
	if o.Group != nil {
		key = o.Group(key)
	}
	return crc32.ChecksumIEEE([]byte(key))%uint32(o.OneIn) == 0
}
