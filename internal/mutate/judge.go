package mutate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Judge is tests that may notice a mutant.
type Judge struct {
	Name    string
	Package string   // as go test takes it; "" is the mutated package itself
	Args    []string // of the test binary
	Env     []string
}

// Verdict says what became of a mutant.
type Verdict uint8

const (
	Survived Verdict = iota
	Unreached
	Killed
	TimedOut
)

// built is a package whose mutants can be run.
type built struct {
	*source
	root    string // of the module
	mutants []Mutant
	overlay string
	courts  []*court
}

// court is a judge's binary for the mutants of one package.
type court struct {
	Judge
	of          string // package of its tests
	binary, dir string
	once        sync.Mutex
	reached     []byte // by number; nil before it is open
	limit       time.Duration
	err         error
}

// build makes the overlay of a package's mutants, and a binary for each judge. dir is
// for what it writes.
func build(root, pattern, dir string, judges []Judge) (*built, error) {
	s, err := load(root, pattern)
	if err != nil {
		return nil, err
	}
	mutants, texts, err := find(s)
	if err != nil {
		return nil, err
	}
	b := &built{source: s, root: root, mutants: mutants, overlay: filepath.Join(dir, "overlay.json")}
	texts["mutants__.go"] = switchOf(s.name)
	replace := map[string]string{}
	for name, text := range texts {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, text, 0o600); err != nil {
			return nil, err
		}
		replace[filepath.Join(s.dir, name)] = at
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(b.overlay, overlay, 0o600); err != nil {
		return nil, err
	}
	for i, j := range judges {
		of := j.Package
		if of == "" {
			of = pattern
		}
		c := &court{Judge: j, of: of, binary: filepath.Join(dir, fmt.Sprintf("judge%d.test", i)), dir: filepath.Join(root, of)}
		for _, before := range b.courts {
			if before.of == of {
				c.binary = before.binary
			}
		}
		b.courts = append(b.courts, c)
	}
	return b, nil
}

// slowest is how long the tests may take without a mutation.
const slowest = 10 * time.Minute

// open builds the judge's binary, runs its tests without a mutation, and notes which mutants
// they reach. With one they may take five times as long, and ten seconds more. It is done when
// the first mutant comes.
func (b *built) open(ctx context.Context, c *court) error {
	c.once.Lock()
	defer c.once.Unlock()
	if c.reached != nil || c.err != nil {
		return c.err
	}
	c.reached, c.err = b.openOnce(ctx, c)
	return c.err
}

func (b *built) openOnce(ctx context.Context, c *court) ([]byte, error) {
	if _, err := os.Stat(c.binary); err != nil {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", b.overlay, "-o", c.binary, c.of)
		cmd.Dir = b.root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the mutants of %s for %s: %w\n%s", b.path, c.Name, err, out)
		}
	}
	notes := c.binary + "." + c.Name
	if err := os.WriteFile(notes, make([]byte, len(b.mutants)+1), 0o600); err != nil {
		return nil, err
	}
	began := time.Now()
	if out, err := c.run(ctx, slowest, reachedVar+"="+notes); err != nil {
		return nil, fmt.Errorf("%s of %s fails without a mutation: %w\n%s", c.Name, c.dir, err, out)
	}
	c.limit = 5*time.Since(began) + 10*time.Second
	return os.ReadFile(notes)
}

// run runs the tests with one more variable set.
func (c *court) run(ctx context.Context, limit time.Duration, variable string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"-c", `ulimit -v 8000000; exec "$0" "$@"`, c.binary, "-test.failfast", "-test.timeout", "0"}, c.Args...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = c.dir
	cmd.WaitDelay = time.Second
	cmd.Env = append(append(os.Environ(), c.Env...), variable, "GOMAXPROCS=1")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out, err
}

// judge says what becomes of m, and by which judge.
func (b *built) judge(ctx context.Context, m *Mutant) (Verdict, string, error) {
	verdict := Unreached
	for _, c := range b.courts {
		if err := b.open(ctx, c); err != nil {
			return 0, "", err
		}
		if c.reached[m.Number] == 0 {
			continue
		}
		verdict = Survived
		_, err := c.run(ctx, c.limit, fmt.Sprintf("%s=%d", mutantVar, m.Number))
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return TimedOut, c.Name, nil
		case err != nil:
			return Killed, c.Name, nil
		}
	}
	return verdict, "", nil
}

func (v Verdict) String() string {
	return [...]string{"survived", "unreached", "killed", "timed out"}[v]
}
