# The parts of .ci/run one by one, and what it leaves out: bench*, sim and vuln. soak is longer here.
.PHONY: build cross sbom test lint hostile bench bench-rate bench-latency bench-restart bench-blind bench-growth bench-decoding bench-violated bench-long bench-weak bench-pages bench-sources bench-group bench-all fuzz mutants mutate sim sim-group soak demo vuln integration live probelive docs-code adya databases deploy mixin tools man screenshot pages look

SIM ?= 33000
FROM ?= 0
SOAK ?= 15m
SOAK_RATE ?= 30000
FUZZTIME ?= 30s
BENCHTIME ?= 1s
BLIND ?= 3
MUTANTS ?= 250
SEED ?= 1
LOOK ?= look
MUTATE_TIME ?= 10m
MUTATE_IN ?=
MUTANT ?=
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
CYCLONEDX = github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.8.0

build:
	go build -o bin/monitor ./cmd/monitor

# Programs for all platforms, in bin/OS-ARCH, static; and the whole compiled and vetted for macOS, tests too.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
cross:
	@set -e; for p in $(PLATFORMS); do \
		os=$${p%/*}; arch=$${p#*/}; echo "$$p"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags "-s -w" -o bin/$$os-$$arch/monitor ./cmd/monitor; done
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go vet ./...

# The bill of materials of the program, CycloneDX in JSON.
sbom: build
	go run $(CYCLONEDX) bin -json -output bin/monitor.cdx.json bin/monitor

# The man pages, in bin/man1: man -M bin monitor
man: build
	mkdir -p bin/man1
	bin/monitor man --dir bin/man1

test:
	go test ./...

# Needs the tools once: make tools
lint:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go mod tidy -diff
	cd deploy/test && go mod tidy -diff
	cd capture/ormtest && go mod tidy -diff
	cd internal/web/browsertest && go mod tidy -diff
	go vet ./...
	go vet -tags integration ./...
	.tools/staticcheck ./...

tools:
	GOBIN=$(CURDIR)/.tools go install $(STATICCHECK)
	GOBIN=$(CURDIR)/.tools go install $(GOVULNCHECK)

# What the bar is about: decoding, the core, from input to durable verdict, one at a
# time, and what recording a transaction costs a service. Kafka needs java and mvn, and
# is left out without them.
bench:
	go test -tags integration -run '^$$' -bench 'Decode$$|Core|File|NATS|Kafka|Capture' -benchtime $(BENCHTIME) -timeout 1h -p 1 \
		./event ./window ./internal/bench ./capture

# Weak levels: whole processes of monitor check.
bench-weak:
	go test -run '^$$' -bench CheckWeak -benchtime $(BLIND)x -timeout 1h ./internal/bench

# Blind writes: whole processes of monitor check, best of BLIND runs beside what it
# should be, and the stream over NATS.
bench-blind:
	go test -run '^$$' -bench 'Check$$' -benchtime $(BLIND)x -timeout 1h ./internal/bench
	go test -run '^$$' -bench 'NATS/blind' -benchtime 1x -timeout 1h ./internal/bench

# Cost against size: n, 10n and 100n transactions, and the exponent of growth.
bench-growth:
	go test -v -run '^$$' -bench Growth -benchtime 1x -timeout 1h ./internal/bench

# A million transactions beside encoding/json, which decodes them: wall and CPU time, and memory.
bench-decoding:
	go test -run '^$$' -bench Decoding -benchtime $(BLIND)x -timeout 1h ./internal/bench

# Violated histories beside valid ones of one size: CPU time of whole processes, and the ratio.
bench-violated:
	go test -run '^$$' -bench Violated -benchtime 1x -timeout 1h ./internal/bench

# What the whole service takes at low rates, its latency at higher ones with the distribution of the
# stages of steps, and a restart with a million live transactions. ISOWATCH_DURING=20s is how long
# each rate lasts; ISOWATCH_MONITOR names another build; ISOWATCH_RATE_MEMORY=717MiB is the service's --memory.
bench-rate:
	go test -v -run '^$$' -bench Rate -benchtime 1x -timeout 1h ./internal/bench

bench-latency:
	go test -v -run '^$$' -bench Latency -benchtime 1x -timeout 1h ./internal/bench
	go test -run '^$$' -bench Pause -benchtime 20x -timeout 1h ./internal/engine

bench-restart:
	go test -v -run '^$$' -bench Restart -benchtime 1x -timeout 1h ./internal/bench

# One stream split over 1, 64, 250 and 1,000 sources, at full speed and at 5,000 transactions a second.
bench-sources:
	go test -run '^$$' -bench Sources -benchtime 1x -timeout 1h ./internal/bench

# How long a unit of a group takes to come to another member, with so many transactions in its window, and how large its state is.
# Then what an idle unit of so many costs.
# Throughput and latency of a group beside one monitor: the broker holds GROUP_RATE transactions.
GROUP_SIZES ?= 8000,64000,320000,1000000
GROUP_UNITS ?= 50
# Then ten members over 1,000 sources, at 1,000 transactions a second for GROUP_TEN; one of them is killed.
GROUP_RATE ?= 600000
GROUP_TEN ?= 60s
bench-group:
	ISOWATCH_GROUP_RATE=$(GROUP_RATE) go test -count=1 -v -run '^TestGroupRate$$' -timeout 1h ./cmd/monitor
	ISOWATCH_GROUP_SIZES=$(GROUP_SIZES) ISOWATCH_GROUP_UNITS=$(GROUP_UNITS) ISOWATCH_GROUP_TEN=$(GROUP_TEN) go test -count=1 -v -run '^TestGroup(Moves|Units|Ten)$$' -timeout 2h ./cmd/monitor

# The pages over 100,000 stored findings: each answer within 100 ms. ISOWATCH_FINDINGS=200000 is how many.
bench-pages:
	go test -v -run '^$$' -bench Pages -benchtime 20x -timeout 1h ./internal/app

# 10 million transactions over standard input: memory, disk and CPU in each tenth, and what is written for a byte of input.
# LONG=100000000 is another number.
LONG ?= 10000000
bench-long:
	ISOWATCH_LONG=$(LONG) go test -v -run '^$$' -bench Long -benchtime 1x -timeout 5h ./internal/bench

# Every benchmark there is.
bench-all:
	go test -tags integration -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 2h -p 1 ./...

# Streams that want more memory than there is, each in whole processes: the table of docs/performance.md.
# HOSTILE=keys is those with this in their names.
HOSTILE ?= all
hostile:
	ISOWATCH_HOSTILE="$(HOSTILE)" go test -count=1 -v -timeout 3h -run '^TestTable$$' ./internal/hostile

# Every fuzz target for FUZZTIME.
fuzz:
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's|:func | |' | while read file target; do \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname $$file)" || exit 1; done

# Each rule of the verifier taken out by itself: which of them no test of its package misses.
mutants:
	ISOWATCH_SIM=long go test -count=1 -v -run '^TestMutants$$' ./internal/verify

# Changes of the rules, MUTANTS of them chosen by SEED (all: MUTANTS=all MUTATE_TIME=), which some
# test of the package, scenario or random history must notice. None is begun after MUTATE_TIME.
# MUTATE_IN="internal/infer window" is those packages only, MUTANT="retire.go frozen" those with this in
# their names. docs/testing.md
mutate:
	ISOWATCH_MUTANTS=$(MUTANTS) ISOWATCH_MUTANTS_SEED=$(SEED) ISOWATCH_MUTANTS_TIME=$(MUTATE_TIME) ISOWATCH_MUTANTS_IN="$(MUTATE_IN)" \
		ISOWATCH_MUTANTS_NAMED="$(MUTANT)" \
		go test -count=1 -timeout 0 -v -run '^TestMutate$$' ./internal/mutate

# Random histories against the oracle: SIM of each kind. SIM=long is as many as each test is written
# for, which .ci/run looks at; go test looks at one in 32 of them.
sim:
	ISOWATCH_SIM=$(SIM) ISOWATCH_SIM_FROM=$(FROM) go test -timeout 6h -v ./internal/simtest/...

# The claims of a group in virtual time: 300 members, 3,000 units, 1,000 faults a seed, SEEDS seeds from FROM on.
# 300 take less than 10 minutes on two free cores. As many small ones run the states of units. go test runs a short form.
SEEDS ?= 300
sim-group:
	ISOWATCH_SIM_GROUP=$(SEEDS) ISOWATCH_SIM_GROUP_FROM=$(FROM) go test -count=1 -timeout 6h -v -run '^TestSim' ./internal/group ./internal/group/keep

# The monitor and a real Kafka killed every few seconds under a steady load, for
# SOAK at SOAK_RATE transactions a second.
soak:
	CI=true ISOWATCH_SOAK=$(SOAK) ISOWATCH_SOAK_RATE=$(SOAK_RATE) \
		go test -tags integration -run '^TestSoak$$' -count=1 -timeout 0 -v ./cmd/monitor

# Random histories judged here and by adya, another checker, level by level: docs/compared.md. Needs it once:
# cargo install adya --version 0.1.0 --no-default-features
ADYA ?= adya
adya:
	ISOWATCH_ADYA="$$(command -v $(ADYA))" go test -count=1 -v -timeout 1h ./internal/adya

demo:
	go run ./cmd/monitor demo --duration 30s

# The README's picture of a page, docs/alert.png, from the history docs/alert.jsonl. Needs chromium, and
# on Debian the fonts of fonts-dejavu-core.
screenshot:
	CI=true go test -tags integration -count=1 -run '^TestTakeScreenshot$$' . -rewrite

# The pages of a running monitor in a real browser: flows, widths, axe-core. Needs chromium and npm.
pages:
	cd internal/web/browsertest && CI=true go test -tags integration -count=1 -timeout 10m ./...

# Screenshots of each page and of a finding of each kind in LOOK, in light and dark, 1440 and 360 px wide: look at them.
look:
	cd internal/web/browsertest && CI=true go test -tags integration -count=1 -timeout 15m -run '^TestLook$$' . -look $(abspath $(LOOK))

# Needs the tools once, and the vulnerability database over the network.
vuln:
	.tools/govulncheck ./...

# Against a real nats-server (built from go.mod), a real Apache Kafka (java 17, and mvn
# the first time), PostgreSQL and MariaDB.
integration:
	CI=true go test -tags integration -timeout 30m \
		$$(grep -rl --include='*_test.go' '^//go:build integration' . | xargs -n1 dirname | sort -u | grep -vE '^\.(/internal/(probe)?live|/capture/ormtest|/internal/web/browsertest)?$$')
	cd capture/ormtest && CI=true go test -tags integration ./...

# PostgreSQL, MariaDB and SQLite, judged while they run. It needs the machine alone:
# a record that waits for a second is late.
live:
	CI=true go test -tags integration -count=1 -timeout 0 -v ./internal/live

# monitor probe on PostgreSQL, MariaDB, MySQL and SQLite, which are weaker than is expected of them,
# keep it, are killed, or have a replica that is behind.
probelive:
	CI=true go test -tags integration -count=1 -timeout 10m -parallel 4 -v ./internal/probelive

# The code and the commands of docs/python.md, java.md and start.md: PostgreSQL, python3 with
# psycopg, a JDK and mvn.
docs-code:
	CI=true go test -tags integration -count=1 -timeout 20m ./internal/guides

# The table of docs/databases.md: PostgreSQL, MySQL, MariaDB and SQLite under the probe's workloads,
# some 6 minutes.
databases:
	CI=true go test -tags integration -count=1 -timeout 30m -run '^TestDatabases$$' ./internal/guides -update

# The rules and the dashboard of deploy/mixin, for Prometheus, Grafana and the chart.
mixin:
	cd deploy/test && go test -count=1 -run '^TestRendered$$' . -rewrite

# The chart, the Dockerfile, the compose example, the rules and the dashboard; promtool is Prometheus'. It
# needs Prometheus and Alertmanager.
deploy:
	cd deploy/test && go vet ./... && CI=true go test ./...
	promtool check rules deploy/prometheus/isowatch.rules.yml
	promtool test rules deploy/prometheus/isowatch.test.yml
