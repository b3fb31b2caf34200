# Every target does all it needs in .venv; the stamps there make a second call quick.

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -q -c constraints-dev.txt
SOURCES := src tests benchmarks $(wildcard examples)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo figures test lint format bench clean
.NOTPARALLEL:

demo: $(VENV)/.plot
	$(BIN)/python examples/demo.py

# The pictures of README.md and docs/figures.md; those whose tables are not there stay as they are.
figures: $(VENV)/.dev $(VENV)/.browser
	PYTHONPATH=. $(BIN)/python examples/figures.py

# One BLAS thread for each of the test processes, or they wait for each other.
test: lint $(VENV)/.browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS)

lint: $(VENV)/.dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks core

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp .venv/.NAME says that the extra NAME is installed as pyproject.toml and the pins now have it.
$(VENV)/.%: pyproject.toml constraints-dev.txt | $(VENV)/.made
	$(INSTALL) -e '.[$*]'
	@touch $@

# The pages of models are tested in a real browser.
$(VENV)/.browser: | $(VENV)/.made
	@if command -v chromium >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; }; \
	then touch $@; else echo "chromium cannot be installed; the tests that need it are skipped"; fi

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Termwise needs Python 3.11 or newer; say which by: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@
