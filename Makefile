# Needs only python3 and make; the targets create .venv as needed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-all test-cluster coverage check format bench bench-peers protos release clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) install --constraint constraints.txt --editable '.[data,plots]'
	@touch $@

.venv/installed-dev: .venv/installed
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@

.venv/installed-ray: .venv/installed-dev
	$(PIP) install --constraint constraints.txt --editable '.[ray]'
	@touch $@

.venv/installed-docs: .venv/installed
	$(PIP) install --constraint constraints.txt --editable '.[docs]'
	@touch $@

# The lowest supported NumPy, and all else as in .venv, for the tests of members that differ.
.venv-other/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-other
	grep -v '^numpy==' constraints.txt > .venv-other/constraints.txt
	.venv-other/bin/python -m pip --disable-pip-version-check --quiet install \
		--constraint .venv-other/constraints.txt --editable '.[peers,ray]' hypothesis pytest \
		"$$(sed -n 's/^  "numpy>=\(.*\)",$$/numpy==\1.*/p' pyproject.toml)"
	@touch $@

demo: .venv/installed  ## install grassvine and run its demo: six agents complete images with erased pixels
	@$(BIN)/grassvine doctor --warm > /dev/null # compiles all kernels, once
	$(BIN)/grassvine demo

docs: .venv/installed-docs  ## build the documentation site in docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

test: .venv/installed-dev  ## run the tests except those marked slow, paper or cluster
	$(BIN)/python -m pytest -n auto --dist loadscope

test-all: .venv/installed-dev  ## also run the tests marked slow and paper
	$(BIN)/python -m pytest -n auto --dist loadscope -m 'not cluster'

test-cluster: .venv/installed-ray  ## run the tests that start clusters; some need root and data, and report what is missing
	$(BIN)/python -m pytest -m cluster

coverage: .venv/installed-dev  ## run the tests; report the coverage and the ten least covered files
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	@echo "total: $$($(BIN)/coverage report --format=total)%"
	@$(BIN)/coverage report --sort=cover | sed -n 1,12p

check: .venv/installed-dev  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed-dev  ## format, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/installed-dev  ## benchmarks: ratios measured in one run
	$(BIN)/python -m benchmarks

bench-peers: .venv/installed-ray  ## other libraries beside ours, each in its own environment; about ten minutes
	$(BIN)/python -m benchmarks.libraries

protos: .venv/installed-dev  ## generate the code of the frames between peers
	$(BIN)/python -m grpc_tools.protoc -Isrc --python_out=src --pyi_out=src src/grassvine/engines/peers/transport/frames.proto

release: .venv/installed-dev  ## build wheel and sdist into dist/ and run the tests against the wheel
	PYTHON=$(BIN)/python tools/release

clean:  ## remove the environment and the caches
	rm -rf .venv .venv-other .venv-peers dist docs/_build docs/api docs/gallery .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
