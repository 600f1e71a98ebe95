# Every target sets .venv up by itself; it needs Python 3.11+, pip and a package registry, nothing else.
PYTHON ?= python3
UV := 0.13.9
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: help demo sandbox test test-slow lint format lock coverage clean
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv --without-pip --clear .venv
	$(PYTHON) -m pip --python $(BIN)/python install --quiet uv==$(UV)
	$(BIN)/uv pip sync --quiet --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

demo: $(STAMP) ## Stage, refuse, re-spin and promote CPython 3.14.0b3 on an emulated AWS
	$(BIN)/python -m sandbox.demo

sandbox: $(STAMP) ## Run the whole system on this machine until Ctrl-C: AWS, roles, edges
	$(BIN)/python -m sandbox

test: $(STAMP) ## Run the tests (minutes)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: $(STAMP) ## Run the long tests; some want a browser: apt-get install chromium
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow

coverage: $(STAMP) ## Branch coverage of the core's rules; fails below 100 %
	$(BIN)/python -m pytest tests/core -n 0 --cov --cov-fail-under=100

lint: $(STAMP) ## Check format, style, import rules and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

format: $(STAMP) ## Rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## Resolve the dependencies again into requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --all-extras --python-version 3.11 \
		--no-header pyproject.toml -o requirements.lock

clean: ## Remove .venv and what builds left
	rm -rf .venv build
