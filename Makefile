# `make demo` and `make test` set up all they need: python3 (3.11 or newer), make and a package index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests start hundreds of programs; where this is set, each would compile what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup system demo check test tests slow studies coverage torture first lowest lint docs bench clean

# The environment is made again whenever its contents change. Python compiles what it imports; to
# compile all that is installed takes as long as to install it.
setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Assay needs Python 3.11 or newer; try: make PYTHON=python3.12 $(or $(ASKED),$(MAKECMDGOALS))")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable . --group dev
	@$(BIN)/python -m pip install --quiet --no-compile --group engines || \
	  echo "ClickHouse, Delta and Iceberg are not tested: their packages cannot be installed here"
	@touch $@

# Servers that some tests need; without root and apt those tests skip, and say why.
system:
	@.ci/install-servers

demo: setup
	@$(BIN)/assay demo

# The inner loop: linters, types, import contracts, and the tests that take no server and little time.
check: setup lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet --numprocesses 2 --dist loadgroup -m "not slow" \
	  tests/golden tests/core tests/results tests/exchange src

# The linters run beside the first tests; if they fail, all fails. Libraries that would start threads
# of their own do not.
test: export ASKED := test
test: setup
	@$(MAKE) --no-print-directory --jobs 2 lint tests

tests: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadgroup -m "not slow"

# What takes a server, Spark, a browser or more than a second, and the tests of the studies.
slow: export ASKED := slow
slow:
	@$(MAKE) --no-print-directory --jobs 2 setup system
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 4 --dist loadgroup -m slow
	@$(MAKE) --no-print-directory studies

# The tests of the papers' tables and of the coverage study.
studies: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet --numprocesses 2 --dist loadfile studies
	@echo "The studies take minutes to hours; $(BIN)/python -m studies --help lists them. For example:"
	@echo "  $(BIN)/python -m studies coverage --quick"
	@echo "  $(BIN)/python -m studies reproduce bennett-carvalho"

# The share of lines that tests run, with a floor (pyproject.toml). Tracing takes half as long again,
# so it is not part of `make test`; left out are tests whose programs run in other processes, or
# that run the same lines for longer.
coverage: setup system
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet --numprocesses 3 --dist loadgroup --cov \
	  $(addprefix --ignore=tests/,browser docs statistical torture)

# In full what `make test` runs short: kill -9, crowds, faults, fuzzing, hostile texts in a browser,
# and the real Label Studio. It takes the better part of an hour, and says what it did.
torture: setup system
	@.ci/torture $(BIN)/python $(VENV)/label-studio

# From nothing to a first estimate: the README's first commands in an empty environment, and timed.
first: setup
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.docs.first

# The oldest versions that pyproject.toml allows, in an environment of their own.
lowest:
	@.ci/lowest $(PYTHON) $(VENV)-lowest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, into .site/: open .site/index.html. The tests build it, too, and run every block of it.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site is in $(CURDIR)/.site/index.html"

bench: setup
	$(BIN)/python benchmarks/campaign_cost.py
	$(BIN)/python benchmarks/deck_cost.py
	$(BIN)/python -m benchmarks.simulation_speed
	$(BIN)/python -m benchmarks.any_size .benchmarks --millions 1 10
	$(BIN)/python -m benchmarks.reviewing .benchmarks --millions 1 --late 2000 --submits 200

clean:
	rm -rf $(VENV) $(VENV)-lowest .site .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
