# Set-up happens once, and again when pyproject.toml or the constraints change.
PYTHON ?= python3
VENV ?= .venv
FLOOR_VENV ?= .venv-floor

# The stamps carry the name of the interpreter, so that another PYTHON makes another environment.
READY := $(VENV)/.ready-$(subst /,-,$(PYTHON))
FLOOR_READY := $(FLOOR_VENV)/.ready-$(subst /,-,$(PYTHON))
# Two test workers share the cores: one BLAS thread each.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST = $(ONE_THREAD) $(1)/bin/python -m pytest -n 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-floor lint format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "Another interpreter: make PYTHON=python3.13 ... (another place: VENV=DIR)"

setup: $(READY) ## make the development environment in .venv

demo: $(READY) ## set up, then compare the methods on a built-in problem
	rm -rf build/demo
	$(VENV)/bin/cosift demo --out build/demo

test: $(READY) ## set up, then run every test and documented example
	$(call PYTEST,$(VENV))

test-floor: $(FLOOR_READY) ## the same tests on the oldest versions we promise
	$(call PYTEST,$(FLOOR_VENV))

lint: $(READY) ## check style and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(READY) ## put the code in the house style
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

bench: $(READY) ## run the benchmarks
	$(VENV)/bin/python -m benchmarks

clean: ## remove environments, caches and builds
	rm -rf $(VENV) $(FLOOR_VENV) .venv-ci build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -type d -name __pycache__ -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	$(call install,$(VENV),constraints.txt,dev)

$(FLOOR_READY): pyproject.toml constraints-floor.txt
	$(call install,$(FLOOR_VENV),constraints-floor.txt,test)

# $(call install,ENVIRONMENT,CONSTRAINTS,EXTRA): keeps an environment that works and has the
# right Python, makes any other afresh.
VERSION = -c 'import sys; print(sys.version)'
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cosift needs Python 3.11 or newer, and $(PYTHON) is not: try make PYTHON=python3.11" >&2; exit 1; }
	@if ! $(1)/bin/python -m pip --version >/dev/null 2>&1 || \
	  [ "$$($(1)/bin/python $(VERSION))" != "$$($(PYTHON) $(VERSION))" ]; then \
	  $(PYTHON) -m venv --clear $(1) || \
	  { rm -rf $(1); echo "$(PYTHON) could not make $(1): on Debian, install python3-venv" >&2; exit 1; }; \
	fi
	$(1)/bin/python -m pip install --quiet -c $(2) -e ".[$(3)]"
	@touch $@
endef
