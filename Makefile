# `make` lists the targets. ARGS is passed on to the demo: make demo ARGS="--kill agent@copy"

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build package test conformance test-package test-ui test-matrix test-upgrade operations screenshots lint fmt demo demo-pgbench torture bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what the tests need; does nothing when complete
	@scripts/setup test

build: ## build the programs in release mode
	cargo build --release --locked --bins

package: ## build the Debian packages in target/debian
	@scripts/setup package
	@scripts/package

test: ## set up, then run every check and test as CI does
	@scripts/setup test
	@scripts/test

conformance: ## the client libraries alone: every check and scenario, with maps of a million entries
	@scripts/setup clients
	@scripts/in-memory scripts/conformance --full

test-ui: ## install what they need, then run the tests of the dashboard in a browser alone
	@scripts/setup ui
	cargo build --workspace --locked --bins
	@scripts/test browser

test-matrix: ## split, merge and move between PostgreSQL 15 to 18; writes the table of docs/compatibility.md
	@scripts/setup matrix
	@scripts/test-matrix $(ARGS)

test-upgrade: ## replace the programs of an earlier commit in the middle of a migration: make test-upgrade FROM=COMMIT
	@scripts/setup demo
	@scripts/test-upgrade $(FROM)

test-package: ## install the packages in a small Debian, start the units there, split a shard by the documented commands (as root)
	@scripts/setup machine
	@scripts/test-package

operations: ## run every operation on every kind of map, and every kill and failure, under load
	@scripts/setup test
	cargo build --workspace --locked --bins
	@scripts/in-memory cargo test --workspace --locked --test operations --test e2e -- --include-ignored
	@scripts/in-memory cargo test --locked -p agent --lib -- --ignored streams_that_are_killed
	@scripts/test applications
	@scripts/in-memory cargo test --workspace --locked --test fleet -- --ignored adapters

screenshots: ## make the pictures of the documentation again, of a real migration
	@scripts/setup ui
	cargo build --workspace --locked --bins
	@scripts/in-memory cargo test --workspace --locked --test browser -- --ignored pictures

lint: ## formatting, clippy, licences and sources
	@scripts/setup test
	@scripts/test format clippy deny

fmt: ## format the code
	cargo fmt --all

demo: ## split a live shard on this machine, with a proof at the end
	@scripts/setup demo
	cargo build --release --locked --bins
	target/release/shardwright demo $(ARGS)

demo-pgbench: ## the same with pgbench's tables and the ordinary commands
	@scripts/setup demo
	cargo build --release --locked --bins
	scripts/demo-pgbench $(ARGS)

torture: ## strike every component at every step, RUNS= at most, for SECONDS= at most; continues torture.json
	@scripts/setup demo
	cargo build --release --locked --bins
	target/release/shardwright torture $(if $(RUNS),--runs $(RUNS)) $(if $(SECONDS),--seconds $(SECONDS)) \
	  --commit "$$(git rev-parse HEAD 2>/dev/null || echo unknown)" --json $(or $(JSON),torture.json) $(ARGS)

bench: ## measure beside raw PostgreSQL and peers: make bench ARGS="--quick --json FILE"
	@scripts/setup bench
	cargo build --release --locked --bins --features bench/program
	scripts/in-memory target/release/shardwright-bench $(ARGS)

clean: ## remove what was built
	cargo clean
