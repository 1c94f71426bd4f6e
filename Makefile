# Needs Python >= 3.11 and make; everything else goes into .venv.
#   make demo        install the package and run the main job
#   make test        install the test needs and run the suite   (ARGS="-k cards" narrows it)
#   make test-long   exhaustive sweeps and studies
#   make check       ruff, mypy, import-linter
#   make trained     train the agents that come with the package anew (TRAINED="ppo_arrange ...")
#   make bench       speed beside the limit and the peers: writes benchmarks/RESULTS.md
#   make venv | wheel | clean
#
# PYTHON=python3.12                    another interpreter
# PEERS=<folder>                       for bench: one virtual environment per peer, named after it
# TORCH_INDEX=<address of an index>    where pip also looks for torch; the README names PyTorch's own

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
PEERS ?=
TRAINED ?= ppo_arrange
TORCH_INDEX ?=
PYTHON ?= $(firstword $(shell \
	for python in python3.11 python3 python3.12 python3.13 python; do \
		$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python; \
	done; true))

TORCH := $(shell sed -n '/^torch==/p' constraints.txt)
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --constraint constraints.txt
INSTALL_TORCH := $(INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo test test-long check bench trained wheel clean

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

venv: $(VENV)/.installed-dev

demo: $(VENV)/.installed-run
	$(BIN)/niulab demo $(ARGS)

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 $(ARGS)

test-long: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 -m long $(ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/.installed-run
	$(BIN)/python benchmarks/run.py $(if $(PEERS),--peers $(PEERS)) $(ARGS)

# each name is a shipped config; what was trained before is only read
trained: $(VENV)/.installed-run
	for name in $(TRAINED); do \
		run=runs/trained/$$name; \
		$(BIN)/niulab train $$name --run-dir $$run $$(test ! -d $$run || echo --resume) && \
		$(BIN)/niulab export $$run niulab/agents/trained/$$name || exit; \
	done

wheel: $(VENV)/.created
	rm -rf dist
	$(PIP) wheel --quiet --no-deps --wheel-dir dist .
	@ls dist

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find niulab tests -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- set-up, once per change

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "niulab needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python"; exit 1; }
	@echo "Setting up $(VENV) with $(PYTHON): once, a minute or two."
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# torch goes first and alone: the CPU build where pip finds one, so that no CUDA packages come
# along; and an index that also carries other packages is asked for torch only.
$(VENV)/.installed-torch: constraints.txt | $(VENV)/.created
	@echo "Installing $(TORCH)"
	@$(INSTALL_TORCH) "$(TORCH)+cpu" 2>/dev/null || { \
		echo "No separate CPU build of $(TORCH) at hand: taking the default one, on Linux a CUDA build of"; \
		echo "several gigabytes. TORCH_INDEX=... names an index with CPU builds (see README)."; \
		$(INSTALL_TORCH) "$(TORCH)"; }
	@touch $@

$(VENV)/.installed-run: pyproject.toml constraints.txt $(VENV)/.installed-torch
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt $(VENV)/.installed-torch
	$(INSTALL) --editable ".[dev]"
	@touch $(VENV)/.installed-run $@
