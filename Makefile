# Two commands: make run, make test. Each sets up everything it needs in .venv.
#
#   make run      simulate the guided vehicle of the paper on its circle and leave a folder in runs/
#   make check    lint, types and the fast unit tests of the first stages, in below 90 s
#   make test     lint, types and the whole test suite, the browser tests included
#   make test-all the same with every law on every library model, thousands of random mechanisms, tutorials and
#                 notebooks, the wheel in a bare environment, and random trees by MuJoCo and Pinocchio; its log is
#                 benchmarks/results/test-all.txt
#   make install  the environment only
#   make lint     ruff and mypy
#   make docs     the site, in docs/_build/html, without network once its tools are installed
#   make pictures all pictures of the documentation, drawn anew; needs Chromium
#   make wheel    a wheel in dist/, checked with twine
#   make fuzz     an hour of random inputs for every reader; what fails is kept in tests/hostile/corpus
#   make bench    speed, as ratios side by side
#   make bench-peers  the same work by other tools, each in an environment of its own

VENV := .venv
# tests start hundreds of processes: bytecode is compiled once, whatever the environment says
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin
# what make check runs, but for tests marked slow
FAST := $(addprefix tests/unit/,model kinematics formulations engines simulation test_atomic.py test_numeric.py test_traced_operators.py) \
	tests/test_layers.py tests/test_public_api.py tests/test_errors.py
LOG := benchmarks/results/test-all.txt
# files to whichever worker is free, the longest first (tests/conftest.py)
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder
# the first Python that is new enough
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))

.PHONY: run check test test-all docs pictures wheel unit-tests all-tests fuzz install lint bench bench-peers chromium clean
.DEFAULT_GOAL := run

install: $(VENV)/installed

$(VENV)/installed: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "noslip needs Python 3.11 or newer: install it, or name it with make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

run: install
	$(BIN)/noslip run agv

lint: install
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy

# lint beside tests
check: install
	@$(MAKE) --no-print-directory --jobs 2 lint unit-tests

test: install chromium
	@$(MAKE) --no-print-directory --jobs 2 lint all-tests

unit-tests: install
	$(PYTEST) -m "not slow" $(FAST)

all-tests: install
	$(PYTEST)

# trees are left out, with the reason, where the environments of the other tools cannot be made
test-all: SHELL := bash
test-all: lint chromium
	@mkdir -p $(dir $(LOG))
	set -o pipefail; { git log -1 --format='commit %h of %as'; date -u; $(BIN)/python -V; \
		time { $(BIN)/pytest -n 2 --dist worksteal --long --durations 20 && $(BIN)/python benchmarks/peers/trees.py 500; }; \
	} 2>&1 | tee $(LOG)

fuzz: install
	$(BIN)/pytest tests/hostile/test_fuzz_readers.py --fuzz 3600

# the browser that the browser tests drive; without it they are left out, and say so
chromium:
	@{ command -v chromium || command -v chromium-browser; } >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			echo "installing Chromium for the browser tests"; \
			{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium; } >/dev/null 2>&1; \
		elif sudo -n true 2>/dev/null && command -v apt-get >/dev/null; then \
			echo "installing Chromium for the browser tests"; \
			{ sudo -n apt-get -qq update && sudo -n apt-get -qq install -y chromium; } >/dev/null 2>&1; \
		fi; \
		{ command -v chromium || command -v chromium-browser; } >/dev/null || \
			echo "the browser tests are left out: there is no Chromium, and it could not be installed with apt"; }

# tools of the site are no part of the environment that tests need
docs: install
	@$(BIN)/python -c "import furo, myst_parser, sphinx" 2>/dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "sphinx>=8" "myst-parser>=4" "furo>=2024.8"
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

pictures: install chromium
	for script in agv_circle plots papers moving gallery report studio; do $(BIN)/python docs/images/$$script.py || exit 1; done
	$(BIN)/python docs/site/tutorials.py

wheel: install
	rm -rf dist build
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	@$(BIN)/python -m twine --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check twine
	$(BIN)/python -m twine check --strict dist/*

bench: install
	$(BIN)/python benchmarks/run.py

bench-peers: install
	$(BIN)/python benchmarks/peers/run.py

clean:
	rm -rf $(VENV) build dist docs/_build docs/generated docs/_static .pytest_cache .mypy_cache .ruff_cache .hypothesis
