# samebox: `make demo` runs a whole campaign on this machine, `make test` runs the tests. Both set everything up first.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.PHONY: help setup demo demo-site rehearsal test test-unit test-truth test-infra test-statistics test-mutants test-benchmarks test-redpanda bench-load bench-analysis bench-overhead bench-memory bench-site lint style types format clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: ## install missing system packages (by apt, announced first) and the locked Python packages into .venv
	@provisioning/bootstrap.sh

demo: setup ## run a whole campaign here: testbed, vetting, Pulsar and Kafka in turn, report, teardown
	@.venv/bin/samebox campaign local campaigns/demo.toml --again

demo-site: setup ## make a site of all results here that have a report, in results/site, and tell how to look at it
	@rm -rf .samebox/bundles && mkdir -p .samebox/bundles
	@for report in results/*/report/_SUCCESS; do \
	  test -f "$$report" || { echo "No results with a report are here yet: make demo" >&2; exit 1; }; \
	  folder=$${report%/report/_SUCCESS}; \
	  .venv/bin/samebox bundle "$$folder" -o ".samebox/bundles/$${folder#results/}.samebox" --plain >/dev/null || exit 1; \
	done
	@.venv/bin/samebox site .samebox/bundles/*.samebox $$(test ! -f results/imported/import.json || echo results/imported) -o results/site --plain

rehearsal: setup ## run the same on a simulated AWS: real Pulumi, hosts with sshd and disks, a report on EMR; needs no account
	@if [ "$$(id -u)" = 0 ]; then provisioning/bootstrap.sh mkfs.xfs:xfsprogs nft:nftables; fi # instances are hosts with disks, which takes root
	@.venv/bin/samebox rehearse campaigns/demo.toml

# everything that tests write stays in the clone: pytest's folders and the JVMs' scratch files
SCRATCH := $(CURDIR)/.samebox/scratch
IN_CLONE = mkdir -p $(SCRATCH) && TMPDIR=$(SCRATCH) SPARK_LOCAL_DIRS=$(SCRATCH) SPARK_LAUNCHER_OPTS=-XX:-UsePerfData \
	SPARK_SUBMIT_OPTS="-XX:-UsePerfData $(SPARK_JIT) -Djava.io.tmpdir=$(SCRATCH)"
# Spark's JVMs don't live long enough in tests to benefit from the second compiler
test test-unit: SPARK_JIT := -XX:TieredStopAtLevel=1
# what Python has compiled is kept, whatever this shell says: four processes load all tests, and tests start Python some 200 times
test-unit: IN_CLONE += PYTHONDONTWRITEBYTECODE=

# tests/conftest.py says which tests may run at the same time. A test that its time limit can't interrupt, as it waits inside a library, ends
# its process and says where it stood
SHARED := -n 3 --dist loadfile -o faulthandler_timeout=1800 -o faulthandler_exit_on_timeout=true

# durability proofs trace processes, and faults drop packets; without these programs, and without root to install them, their tests are skipped
STRACE := @if [ "$$(id -u)" = 0 ]; then provisioning/bootstrap.sh strace:strace nft:nftables; fi

# pages are looked at in a browser; the same holds
CHROMIUM := @if [ "$$(id -u)" = 0 ]; then provisioning/bootstrap.sh chromium:chromium; fi

test: setup style ## style, types and unit tests, then integration tests with real sshd, brokers and Spark; leaves out the long halves of test-truth and test-statistics, test-infra, test-mutants and test-benchmarks
	@$(MAKE) --no-print-directory -j2 types test-unit
	$(STRACE)
	$(CHROMIUM)
	@$(IN_CLONE) .venv/bin/python -m pytest $(SHARED) -m "integration and not truth and not infra and not benchmarks and not redpanda"

# four processes on two cores: some tests wait for a clock
test-unit: setup ## only the unit tests
	@$(IN_CLONE) .venv/bin/python -m pytest -n 4 --dist loadfile -m "not integration and not statistics"

test-truth: setup ## do the records tell the truth? Freezes, kills, cuts off and fills up real clusters; slow
	$(STRACE)
	@$(IN_CLONE) .venv/bin/python -m pytest tests/truth -m "not redpanda"

test-infra: setup ## the Pulumi program with the real engine against a simulated AWS (the first time this builds pulumi: five minutes of CPU)
	@if [ "$$(id -u)" = 0 ]; then provisioning/bootstrap.sh mkfs.xfs:xfsprogs strace:strace nft:nftables; fi # instances are hosts with disks, which takes root
	@.venv/bin/python -m provisioning.testbeds.aws.rehearsal.engine.engine
	@$(IN_CLONE) .venv/bin/python -m pytest $(SHARED) -m infra

test-statistics: setup ## are intervals and verdicts as reliable as they claim? Tables from 2,000 simulated campaigns of each kind (five minutes)
	@$(IN_CLONE) .venv/bin/python -m pytest -n 2 --dist loadfile -rP tests/statistics

test-mutants: setup ## would the tests notice? Breaks the code in 316 places, each of which must fail the tests it names (five minutes)
	@$(IN_CLONE) .venv/bin/python -m tests.mutants $(ARGS)

test-redpanda: setup ## does Redpanda run as it was written? Real clusters out of its makers' archive: make test-redpanda REDPANDA=FILE
	@test -f "$(REDPANDA)" || { echo "REDPANDA=FILE must name an archive of Redpanda, such as redpanda-25.3.14-amd64.tar.gz" >&2; exit 1; }
	$(STRACE)
	@$(IN_CLONE) SAMEBOX_REDPANDA="$(abspath $(REDPANDA))" .venv/bin/python -m pytest -m redpanda

test-benchmarks: setup ## do the benchmarks below still measure what they claim? Short runs of two of them (five minutes)
	@$(IN_CLONE) .venv/bin/python -m pytest -m benchmarks

bench-load: setup ## compare the load generator with the systems' own tools (half an hour; OMB_HOME=... adds OpenMessaging Benchmark)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.load $(ARGS)

bench-analysis: setup ## time the report job and exact percentiles of 50 and 200 million rows, Spark against DuckDB (half an hour, 2.6 GB in .samebox)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.analysis $(ARGS)

bench-overhead: setup ## break down the time between two trials, per system (fifteen minutes)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.overhead $(ARGS)

bench-site: setup ## how long a site of 500 bundles takes, how large it is, and how soon its pages answer (one minute)
	$(CHROMIUM)
	@$(IN_CLONE) .venv/bin/python -m tests.site $(ARGS)

bench-memory: setup ## does memory grow with the length of a trial? Trials of one and five minutes, per system (twenty minutes)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.memory $(ARGS)

lint: style types ## check style and types

style: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

# yields to the unit tests running next to it, some of which are timed
types: setup
	@nice -n 19 .venv/bin/mypy

format: setup ## reformat the code
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

clean: ## tear down the local testbed and remove everything make created here except results/
	@if [ -x .venv/bin/samebox ]; then .venv/bin/samebox down; fi
	@rm -rf .venv .samebox *.egg-info .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -not -path './results/*' -prune -exec rm -rf {} +
