# delaylab. `make quickstart` is the place to begin.
VENV := .venv/bin
export PATH := $(HOME)/.cargo/bin:$(PATH)
# Where it is set, each command compiles all its modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup light kinds quickstart quick quick-tests lint lint-rust check check-and-build agent format test test-tools test-pure test-beside test-rust test-crate test-real test-long test-slow controls truth fuzz bench coverage docs site lock wheel licences clean

help:
	@echo "make quickstart   set up, run the first study, print its table and its report's path"
	@echo "make setup        system packages, .venv, the agent"
	@echo "make kinds        also what containers and virtual machines need"
	@echo "make quick        ruff, mypy and the pure tests, without the agent (under two minutes)"
	@echo "make test         check, then all tests (18 to 20 minutes); T=plan: those of one room"
	@echo "make check        ruff, mypy --strict, clippy, rustfmt"
	@echo "make test-slow    kill tests at length"
	@echo "make controls     verdicts on every claim in worlds with and without its effect"
	@echo "make truth        causes of late packets, injected and looked for, into docs/truth.md"
	@echo "make fuzz         the parsers under cargo-fuzz"
	@echo "make bench        benchmarks beside their peers, into docs/benchmarks.md"
	@echo "make coverage     how often intervals cover the truth, into docs/method.md"
	@echo "make docs         the pages made from the command line and the code"
	@echo "make site         the docs as a site, into site/"
	@echo "make lock         requirements.txt, with the hashes of all its packages"
	@echo "make wheel        one wheel with the agent inside, into dist/"

setup:
	@tools/setup.sh

kinds:
	@tools/setup.sh --kinds

quickstart: setup
	@$(VENV)/delaylab run quickstart

# What needs .venv alone: no system package, no Rust, no agent.
light:
	@tools/setup.sh --python

lint: light
	$(VENV)/ruff format --check src tests benches tools examples
	$(VENV)/ruff check src tests benches tools examples
	$(VENV)/mypy

check: light
	@tools/setup.sh --packages
	@$(BESIDE) lint lint-rust

# Style and types, and beside them the agent: pip and mypy work on one CPU alone.
check-and-build:
	@tools/setup.sh --packages
	@$(BESIDE) --jobs 3 lint lint-rust agent

agent:
	@tools/build_agent.sh

# Clippy is the compiler here: it lints the tests while it builds them, in four fifths of the CPU time of two passes.
LINTED := RUSTC_WORKSPACE_WRAPPER=clippy-driver
CARGO := cargo --config 'build.rustflags = ["-Dwarnings"]'
CARGO_LINTED := $(LINTED) $(CARGO)

lint-rust:
	cargo fmt --all --check
	$(CARGO_LINTED) build --quiet --locked --workspace --lib --bins --tests --examples --benches

format: light
	$(VENV)/ruff format src tests benches tools examples
	$(VENV)/ruff check --fix src tests benches tools examples
	cargo fmt --all

# Tests that send packets, boot guests or run the agent. The others are pure, and most of them quick.
REAL := tests/packets tests/images tests/doing tests/test_wheel.py
LONG := tests/analysis tests/api tests/controls tests/hostile tests/papers tests/report tests/test_study_plans.py
# A file's tests stay on one worker; the longest files come first (tests/conftest.py).
PYTEST := $(VENV)/pytest --numprocesses logical --dist loadscope
# Each CPU has a worker, so polars in a worker needs one thread.
quick-tests test-pure test-long: export POLARS_MAX_THREADS := 1
BESIDE := $(MAKE) --no-print-directory --jobs 2 --output-sync

# mypy works on one CPU alone.
quick: light
	@$(BESIDE) lint quick-tests

quick-tests:
	$(PYTEST) -m 'not slow and not agent' $(REAL:%=--ignore %) $(LONG:%=--ignore %)

# What fails soonest comes first: style and types, then quick pure tests, then all others. T is one room: a
# folder or a file of tests (T=ground, T=doing/links/test_links.py), a room of the package (T=plan), or a
# crate (T=crates/link).
ifdef T
test:
	@python3 tools/test_room.py $(T)
else
test: check-and-build test-pure test-beside
endif

test-tools:
	@tools/setup.sh --tests

test-pure: setup
	$(PYTEST) $(REAL:%=--ignore %) $(LONG:%=--ignore %)

test-rust: setup
	$(LINTED) python3 tools/test_rust.py $(CARGO) test --quiet --locked --workspace

test-crate:
	$(CARGO_LINTED) test --quiet --locked --package $(CRATE)

# Tests with real packets wait for guests and packets a third of the time, and Rust's tests for most of
# it, which the long pure tests can use. What fails beside others is run once more, alone.
test-beside: setup test-tools
	@python3 tools/test_beside.py

# They only compute, so whatever keeps to a time goes first, by far.
test-long: setup
	nice -n 19 $(PYTEST) $(LONG)

# Two workers for each CPU: these tests often wait for guests and for packets. With three workers on two CPUs
# the long pure tests ended four minutes before these, and the CPUs were then idle at times.
test-real: test-tools
	$(PYTEST) --numprocesses $$(( $$(nproc) * 2 )) $(REAL)

test-slow: test-tools
	$(VENV)/pytest --override-ini "addopts=-q --strict-markers" -m slow

controls: setup
	$(VENV)/python -m tests.controls $(DRAWS)

truth: setup
	$(VENV)/python -m tests.truth --write
	$(VENV)/python -m tests.truth.repair --write
	$(VENV)/python -m tests.truth.clean --runs 10 --write

# Needs a nightly toolchain and cargo-fuzz (cargo install --locked cargo-fuzz), which has no --locked
# of its own: fetching fails where fuzz/Cargo.lock is out of date.
fuzz:
	cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml
	cargo run --quiet --locked --package delaylab-fuzz-targets --example corpus -- fuzz/corpus
	for target in packet frame pcapng tcp calls; do \
		cargo +nightly fuzz run $$target -- -max_total_time=$(or $(SECONDS_EACH),60) || exit 1; done

bench: kinds
	$(VENV)/python -m benches

coverage: setup
	$(VENV)/python -m tools.coverage

# The agent's bounds come first: the models that other pages are made from import them.
docs: setup
	$(VENV)/python -m tools.engine_bounds
	$(VENV)/python -m tools.message_types
	$(VENV)/python -m tools.cli_pages
	$(VENV)/python -m tools.man_page
	$(VENV)/python -m tools.profile_table
	$(VENV)/python -m tools.points_table
	$(VENV)/python -m tools.mechanisms_table
	$(VENV)/python -m tools.claims_page
	$(VENV)/python -m tools.replications_page
	$(VENV)/python -m tools.coverage_pages
	$(VENV)/python -m tools.schema_pages
	$(VENV)/python -m tools.api_page

site: light
	NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict --quiet --site-dir site
	@echo "site/index.html; to search it: $(VENV)/python -m http.server --directory site"

# Needs uv. Versions that requirements.txt has already stay; UPGRADE=--upgrade takes the newest.
lock:
	uv pip compile pyproject.toml --extra dev --python-version 3.11 --python-platform linux --only-binary :all: \
		--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links --quiet $(UPGRADE) \
		--custom-compile-command "make lock" --output-file requirements.txt

# Needs cargo-about. The licence texts of the crates that are linked into what users get, which the wheel has.
licences:
	cargo about generate --config tools/licences.toml --workspace --locked --output-file LICENCES-OF-CRATES.txt tools/licences.hbs

wheel: setup
	$(VENV)/python -m build --wheel --no-isolation --outdir dist
