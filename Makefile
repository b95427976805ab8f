# samebox: `make demo` runs a whole campaign on this machine, `make test` passes the tests. Both set everything up first.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.PHONY: help setup demo rehearsal test test-unit test-truth test-infra test-statistics test-mutants test-benchmarks bench-load bench-analysis bench-overhead bench-memory lint style types format clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: ## install what is missing (system packages by apt, said first) and the locked Python packages into .venv
	@provisioning/bootstrap.sh

demo: setup ## a whole campaign here: testbed, vetting, Pulsar and Kafka in turn, report, teardown
	@.venv/bin/samebox campaign local campaigns/demo.toml --again

rehearsal: setup ## the same on AWS as this machine can play it: real Pulumi, hosts with sshd and disks, a report on EMR; no account
	@if [ "$$(id -u)" = 0 ]; then provisioning/bootstrap.sh mkfs.xfs:xfsprogs; fi # for instances that are hosts, which only root can have
	@.venv/bin/samebox rehearse campaigns/demo.toml

# everything that tests write stays in the clone: pytest's folders, the JVMs' scratch files
SCRATCH := $(CURDIR)/.samebox/scratch
IN_CLONE = mkdir -p $(SCRATCH) && TMPDIR=$(SCRATCH) SPARK_LOCAL_DIRS=$(SCRATCH) SPARK_LAUNCHER_OPTS=-XX:-UsePerfData \
	SPARK_SUBMIT_OPTS="-XX:-UsePerfData $(SPARK_JIT) -Djava.io.tmpdir=$(SCRATCH)"
# Spark's JVMs live too short in tests for the second compiler
test test-unit: SPARK_JIT := -XX:TieredStopAtLevel=1

# proofs of durability trace processes; without strace, and without root to install it, their tests are skipped
STRACE := @if [ "$$(id -u)" = 0 ]; then provisioning/bootstrap.sh strace:strace; fi

test: setup style ## style, types beside unit tests, then integration with real sshd, brokers and Spark (not the long halves of tests/truth and tests/statistics, not test-mutants and test-benchmarks; not test-infra, which CI runs too)
	@$(MAKE) --no-print-directory -j2 types test-unit
	$(STRACE)
	@$(IN_CLONE) .venv/bin/python -m pytest -m "integration and not truth and not infra and not benchmarks"

test-unit: setup ## the unit tests alone
	@$(IN_CLONE) .venv/bin/python -m pytest -n auto --dist loadfile -m "not integration and not statistics"

test-truth: setup ## do the records tell the truth? Real clusters frozen, killed, cut off, filled up; takes long
	$(STRACE)
	@$(IN_CLONE) .venv/bin/python -m pytest tests/truth

test-infra: setup ## the Pulumi program with the real engine and AWS on this machine (the first time it builds pulumi: five minutes of CPU)
	@if [ "$$(id -u)" = 0 ]; then provisioning/bootstrap.sh mkfs.xfs:xfsprogs strace:strace; fi # for instances that are hosts, which only root can have
	@.venv/bin/python -m provisioning.testbeds.aws.rehearsal.engine.engine
	@$(IN_CLONE) .venv/bin/python -m pytest -m infra

test-statistics: setup ## are intervals and verdicts as sure as they say? 2,000 simulated campaigns of each kind, as tables (five minutes)
	@$(IN_CLONE) .venv/bin/python -m pytest -s tests/statistics

test-mutants: setup ## would the tests notice? Each of 136 wrong changes of the code must make the tests that it names fail (five minutes)
	@$(IN_CLONE) .venv/bin/python -m tests.mutants $(ARGS)

test-benchmarks: setup ## do the benchmarks below still measure what they say? Short runs of two of them (five minutes)
	@$(IN_CLONE) .venv/bin/python -m pytest -m benchmarks

bench-load: setup ## our load generator beside the systems' own tools (half an hour; OMB_HOME=... adds OpenMessaging Benchmark)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.load $(ARGS)

bench-analysis: setup ## report job and exact percentiles of 50 and 200 million rows, Spark beside DuckDB (half an hour, 2.6 GB in .samebox)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.analysis $(ARGS)

bench-overhead: setup ## where the time between two trials goes, per system (fifteen minutes)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.overhead $(ARGS)

bench-memory: setup ## does memory grow with the length of a trial? One minute and five, per system (twenty minutes)
	@$(IN_CLONE) .venv/bin/python -m tests.benchmarks.memory $(ARGS)

lint: style types ## style and types

style: setup
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

# gives way to the unit tests beside it, some of which look at the clock
types: setup
	@nice -n 19 .venv/bin/mypy

format: setup ## rewrite the code in the house format
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

clean: ## tear the local testbed down and remove what make made here (results/ stays)
	@if [ -x .venv/bin/samebox ]; then .venv/bin/samebox down; fi
	@rm -rf .venv .samebox *.egg-info .mypy_cache .pytest_cache .ruff_cache
