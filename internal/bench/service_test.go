//go:build linux

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	brokernats "github.com/isowatch/isowatch/internal/broker/nats"
	"github.com/isowatch/isowatch/internal/workload"
)

// service is a process of monitor run with the NATS server inside it.
type service struct {
	cmd       *exec.Cmd
	nats, web string
	mu        sync.Mutex
	found     map[string]time.Time // group of planted transactions -> when its first finding was printed
	ended     chan struct{}
}

// contract is one under which a finding that records show is told at once.
const contract = "capture=complete,start=empty,unmonitored-writers=no,deletes=recorded,value-identity=unique,isolation=ignore,clock-drift=0s"

// serve starts the service over a data folder and waits until it takes records.
func serve(b *testing.B, monitor, data string, args ...string) *service {
	b.Helper()
	return serveInput(b, monitor, data, nil, args...)
}

// serveInput is serve with a standard input.
func serveInput(b *testing.B, monitor, data string, stdin io.Reader, args ...string) *service {
	b.Helper()
	s := &service{found: map[string]time.Time{}, ended: make(chan struct{})}
	if len(args) == 0 {
		args = []string{"--nats-port", "0"}
	}
	s.cmd = exec.Command(monitor, append([]string{"run", "--data", data, "--http", "127.0.0.1:0", "--log-format", "json",
		"--output", "jsonl", "--contract", contract}, args...)...)
	s.cmd.Stdin = stdin
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	log, err := s.cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		select {
		case <-s.ended:
		default:
			_ = s.cmd.Process.Kill()
		}
	})
	ready := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { s.readLog(log, ready) })
	reading.Go(func() { s.readFindings(out) })
	go func() {
		reading.Wait()
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	select {
	case <-ready:
	case <-s.ended:
		b.Fatal("the service ended while it started")
	case <-time.After(2 * time.Minute):
		b.Fatal("the service did not start within 2 minutes")
	}
	return s
}

func (s *service) readLog(r io.Reader, ready chan<- struct{}) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var line struct{ Level, Msg, Err string }
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		if web, ok := strings.CutPrefix(line.Msg, "listening http="); ok {
			s.web = web
		}
		if url, ok := strings.CutPrefix(line.Msg, "listening nats="); ok {
			s.nats = url
		}
		if strings.HasPrefix(line.Msg, "expected level=") {
			close(ready)
		}
		if line.Level == "ERROR" {
			fmt.Fprintln(os.Stderr, line.Msg, line.Err)
		}
	}
}

// readFindings notes when the first finding of each planted group comes.
func (s *service) readFindings(r io.Reader) {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		now := time.Now()
		at := bytes.Index(line, []byte(`"p`))
		for at >= 0 {
			rest := line[at+1:]
			if end := bytes.IndexByte(rest, '-'); end > 1 && end < 12 {
				group := string(rest[:end])
				if _, err := strconv.Atoi(group[1:]); err == nil {
					s.mu.Lock()
					if _, known := s.found[group]; !known {
						s.found[group] = now
					}
					s.mu.Unlock()
					break
				}
			}
			next := bytes.Index(rest, []byte(`"p`))
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
}

// stop ends the service with a signal.
func (s *service) stop(b *testing.B) {
	b.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		b.Fatal("the service did not end within a minute")
	}
}

// cpu is the processor time that the process has taken, of the user and of the system.
func (s *service) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// memory is a value of the process' status, in bytes: VmRSS or VmHWM.
func (s *service) memory(name string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n * 1024
		}
	}
	return 0
}

// metrics are the values of the service's metrics, by name with labels.
func (s *service) metrics(b *testing.B) map[string]float64 {
	b.Helper()
	r, err := http.Get("http://" + s.web + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && name != "#" {
			all[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all
}

// sent holds what a publisher tells: when it sent the last transaction of each planted group, ns since
// the Unix epoch, and by how much it was behind its schedule at most.
type sent struct {
	At     map[string]int64
	Behind time.Duration
	Count  int
}

// publish sends transactions at the rate for that long, each as a message, from a process of its own. So many
// anomalies a second are planted.
// begun is called when the first is sent.
func publish(b *testing.B, url string, rate, plants int, lasting time.Duration, begun func()) sent {
	b.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fmt.Sprintf("ISOWATCH_PUBLISH=%s %d %d %s", url, rate, plants, lasting))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReader(out)
	if _, err := r.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	begun()
	var s sent
	if err := json.NewDecoder(r).Decode(&s); err != nil {
		b.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		b.Fatal(err)
	}
	return s
}

// publisher is the process that publishes. It makes all records first. Those are as of the
// beginning of its schedule.
func publisher(asked string) error {
	var url, text string
	var rate, plants int
	if _, err := fmt.Sscanf(asked, "%s %d %d %s", &url, &rate, &plants, &text); err != nil {
		return fmt.Errorf("ISOWATCH_PUBLISH=%q: %w", asked, err)
	}
	lasting, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	const epoch = int64(1_000_000_000_000_000_000) // as many digits as a time of today
	n := int(float64(rate) * lasting.Seconds())
	gen, err := workload.NewGenerator(workload.Config{
		Count: n, Interval: time.Second / time.Duration(rate), Start: epoch, Busy: 0.1,
		PlantEvery: rate / plants, Plant: []string{"lost-update", "read-skew"},
	}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		return err
	}
	arrivals := workload.NewArrivals(gen, 5*time.Millisecond, rand.New(rand.NewPCG(2, 2)))
	var lines [][]byte
	groups := map[int]string{}
	for {
		t, ok := arrivals.Next()
		if !ok {
			break
		}
		if group, _, planted := strings.Cut(t.ID, "-"); planted && t.ID[0] == 'p' {
			groups[len(lines)] = group
		}
		lines = append(lines, workload.AppendJSON(nil, &t))
	}
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(200_000))
	if err != nil {
		return err
	}
	told := sent{At: map[string]int64{}, Count: len(lines)}
	fmt.Println("begins")
	began := time.Now()
	shift := began.UnixNano() - epoch
	for i, line := range lines {
		due := time.Duration(float64(i) / float64(rate) * float64(time.Second))
		if i%max(1, rate/1000) == 0 {
			time.Sleep(due - time.Since(began))
		}
		moveTimes(line, shift)
		if _, err := js.PublishAsync("isowatch.events.a", line, jetstream.WithStallWait(time.Minute)); err != nil {
			return err
		}
		if group, ok := groups[i]; ok {
			told.At[group] = time.Now().UnixNano()
			told.Behind = max(told.Behind, time.Since(began)-due)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		return fmt.Errorf("%d messages are not acknowledged", js.PublishAsyncPending())
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}

// moveTimes adds to start and end of a record, in place.
func moveTimes(line []byte, by int64) {
	for _, name := range []string{`"start":`, `"end":`} {
		at := bytes.Index(line, []byte(name)) + len(name)
		digits := line[at : at+19]
		n, _ := strconv.ParseInt(string(digits), 10, 64)
		strconv.AppendInt(digits[:0], n+by, 10)
	}
}

// quantile of sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// startBroker starts a process with the NATS server alone.
func startBroker(b *testing.B) (url string) {
	b.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "ISOWATCH_BROKER="+b.TempDir())
	out, err := child.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// runBroker runs until the process is killed.
func runBroker(dir string) error {
	server, err := brokernats.StartEmbedded(context.Background(), brokernats.EmbeddedOptions{Dir: dir, Port: -1, Stream: "ISOWATCH", Subjects: []string{"isowatch.events.>"}})
	if err != nil {
		return err
	}
	fmt.Println(server.URL())
	select {}
}

// BenchmarkRate runs the service at steady rates: processor time, memory and what it writes. The publisher is another
// process. The NATS server is inside the service, or another process too.
func BenchmarkRate(b *testing.B) {
	monitor := program(b)
	lasting := during(30 * time.Second)
	for _, place := range []string{"inside", "outside"} {
		for _, rate := range []int{0, 100, 1000, 5000, 15_000, 20_000, 36_000} {
			b.Run(fmt.Sprintf("server=%s/txn/s=%d", place, rate), func(b *testing.B) {
				for range b.N {
					measureRate(b, monitor, place == "inside", rate, lasting)
				}
			})
		}
	}
}

func measureRate(b *testing.B, monitor string, inside bool, rate int, lasting time.Duration) {
	var url string
	var args []string
	if !inside {
		url = startBroker(b)
		args = []string{"--nats", url, "--stream", "ISOWATCH"}
	}
	if limit := os.Getenv("ISOWATCH_RATE_MEMORY"); limit != "" { // that of the service
		if inside {
			args = []string{"--nats-port", "0"}
		}
		args = append(args, "--memory", limit)
	}
	data := b.TempDir()
	s := serve(b, monitor, data, args...)
	if inside {
		url = s.nats
	}
	time.Sleep(time.Second)
	var began time.Time
	var before time.Duration
	begin := func() { began, before = time.Now(), s.cpu(b) }
	if rate == 0 {
		begin()
		time.Sleep(lasting)
	} else {
		told := publish(b, url, rate, 1, lasting, begin)
		ended := time.Now()
		for s.metrics(b)["isowatch_records_total"] < float64(told.Count) && time.Since(ended) < 5*time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		b.ReportMetric(time.Since(ended).Seconds(), "late-s") // until it has read what was published
	}
	took, cpu := time.Since(began), s.cpu(b)-before
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*cpu.Seconds()/took.Seconds(), "%core")
	if rate > 0 {
		b.ReportMetric(cpu.Seconds()*1e6/(float64(rate)*lasting.Seconds()), "us/txn")
	}
	b.ReportMetric(s.memory("VmRSS")/(1<<20), "MiB")
	b.ReportMetric(s.memory("VmHWM")/(1<<20), "peak-MiB")
	m := s.metrics(b)
	b.ReportMetric(m["isowatch_store_commits_total"]/took.Seconds(), "commits/s")
	b.ReportMetric(s.written(b)/(1<<20), "written-MiB")
	b.ReportMetric(float64(diskUse(b, data))/(1<<20), "folder-MiB")
	for _, status := range []string{"committed", "aborted", "unknown"} {
		rate -= int(m[`isowatch_transactions_total{source="default",status="`+status+`"}`] / lasting.Seconds())
	}
	b.ReportMetric(float64(max(rate, 0)), "behind/s") // transactions that were sent and not read, a second
	b.ReportMetric(m[`isowatch_live_transactions{source="default"}`], "live")
	s.stop(b)
}

// during is how long a run lasts: ISOWATCH_DURING, or what is usual.
func during(usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(os.Getenv("ISOWATCH_DURING")); err == nil {
		return d
	}
	return usual
}

// BenchmarkLatency runs the service at several rates, a message a transaction, and says how long it
// takes from the publishing of the last record of an anomaly until its finding is printed.
func BenchmarkLatency(b *testing.B) {
	monitor := program(b)
	lasting := during(30 * time.Second)
	for _, rate := range []int{5_000, 50_000, 150_000} {
		b.Run(fmt.Sprintf("txn/s=%d", rate), func(b *testing.B) {
			for range b.N {
				s := serve(b, monitor, b.TempDir())
				var before time.Duration
				var began time.Time
				told := publish(b, s.nats, rate, 50, lasting, func() { began, before = time.Now(), s.cpu(b) })
				for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
					if s.metrics(b)["isowatch_records_total"] >= float64(told.Count) {
						break
					}
				}
				cpu := s.cpu(b) - before
				took := time.Since(began)
				s.mu.Lock()
				var delays []float64
				missed := 0
				for group, at := range told.At {
					if found, ok := s.found[group]; ok {
						delays = append(delays, float64(found.UnixNano()-at)/1e6)
					} else {
						missed++
					}
				}
				s.mu.Unlock()
				slices.Sort(delays)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(quantile(delays, 0.5), "p50-ms")
				b.ReportMetric(quantile(delays, 0.99), "p99-ms")
				b.ReportMetric(quantile(delays, 1), "max-ms")
				b.ReportMetric(float64(told.Behind.Milliseconds()), "publisher-behind-ms")
				b.ReportMetric(float64(missed), "missed")
				b.ReportMetric(took.Seconds(), "wall-s")
				b.ReportMetric(cpu.Seconds()*1e6/float64(told.Count), "us/txn")
				b.ReportMetric(s.memory("VmHWM")/(1<<20), "peak-MiB")
				reportStages(b, s.metrics(b))
				s.stop(b)
			}
		})
	}
}

// reportStages prints the distribution of how long the stages of a step took.
func reportStages(b *testing.B, m map[string]float64) {
	for _, stage := range []string{"gather", "step", "commit"} {
		type bucket struct{ upTo, count float64 }
		var all []bucket
		for name, count := range m {
			rest, ok := strings.CutPrefix(name, fmt.Sprintf("isowatch_step_seconds_bucket{stage=%q,le=\"", stage))
			if !ok {
				continue
			}
			upTo, err := strconv.ParseFloat(strings.TrimSuffix(rest, `"}`), 64)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, bucket{upTo, count})
		}
		slices.SortFunc(all, func(x, y bucket) int { return int(math.Copysign(1, x.upTo-y.upTo)) })
		var text strings.Builder
		fmt.Fprintf(&text, "%s: ", stage)
		before := 0.0
		for _, x := range all {
			if x.count > before {
				fmt.Fprintf(&text, " <=%gms: %g", x.upTo*1000, x.count-before)
			}
			before = x.count
		}
		b.Log(text.String())
	}
}
