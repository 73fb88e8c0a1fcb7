# Everything a contributor needs, on a machine with git, make, a C++ compiler and Python >= 3.11.
# What is missing is named with the command that installs it. Another Python: make PYTHON=python3.12 test

PYTHON ?=
VENV := .venv
STAMP := $(VENV)/torchbuild.stamp
RUN := $(VENV)/bin/python

# The environment is ours alone: nothing of the user's Python gets in, and the jobs of this make are not theirs.
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP MAKEFLAGS MFLAGS MAKELEVEL
export PYTHONNOUSERSITE := 1
export PIP_USER := 0

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint unit environment clean

help: ## Say what there is to make.
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1 \t\2/p' Makefile | expand -t 24

demo: environment ## Build a small project shaped like PyTorch into a verified wheel, and break it in known ways.
	$(RUN) examples/torchlet/demo.py

test: lint unit ## Check style, types and layers, then run the tests.

lint: environment ## Check style, types and layers.
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

unit: environment ## Run the tests.
	$(RUN) -m pytest -q -n 2 --dist loadfile --max-worker-restart 0

environment: ## Make .venv, with torchbuild and its development tools in it.
	@python=$$(sh tools/find_python.sh "$(PYTHON)") && "$$python" tools/prerequisites.py && \
	if [ -n "$(PYTHON)" ] || [ ! -e $(STAMP) ] || [ pyproject.toml -nt $(STAMP) ] || ! $(RUN) -c '' 2>/dev/null; then \
		"$$python" tools/environment.py; \
	fi

clean: ## Remove what was made here, .venv included. Workspaces and caches elsewhere: torchbuild clean.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .demo dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
