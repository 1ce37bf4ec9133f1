# Skuggbok: `make run`, `make test` and `make bench` set up what they need. PYTHON names a Python 3.11 or newer.

PYTHON ?= python3
VENV ?= .venv
VENV_BENCH ?= .venv-bench
DATA ?= data
PORT ?= 8000
BIN := $(VENV)/bin
LOCKS := deploy/requirements

.PHONY: help run serve test check bench lock clean

help: ## what there is to make
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

run: $(VENV)/.service ## start the service with a demonstration, at http://127.0.0.1:$(PORT)
	@exec $(BIN)/skuggbok demo --data "$(DATA)" --port $(PORT)

serve: $(VENV)/.service ## start the service without the demonstration
	@exec $(BIN)/skuggbok serve --data "$(DATA)" --port $(PORT)

test: $(VENV)/.test check ## check the code and run all tests
	$(BIN)/python -m pytest -n auto

check: $(VENV)/.test ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: ## measure it beside its peers, in an environment of its own (BENCH="--only contest" and the like)
	@$(MAKE) --no-print-directory VENV="$(VENV_BENCH)" "$(VENV_BENCH)/.bench"
	@exec $(VENV_BENCH)/bin/python -m tests.bench $(BENCH)

lock: ## choose the newest versions that pyproject.toml allows
	$(BIN)/pip install --quiet "uv>=0.9"
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.11 \
		pyproject.toml --group build -o $(LOCKS)/service.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.11 \
		pyproject.toml --group build --group test -o $(LOCKS)/test.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.11 \
		pyproject.toml --group build --group bench -o $(LOCKS)/bench.txt
	if command -v npm >/dev/null; then cd tests/bench && rm -f package-lock.json \
		&& npm install --silent --package-lock-only --no-audit --no-fund; fi

clean: ## remove the environment and caches; data stay
	rm -rf $(VENV) $(VENV_BENCH) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit("Skuggbok needs Python 3.11 or newer; this is " + sys.version.split()[0] \
		+ ". Say which: make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.service: $(VENV)/.python $(LOCKS)/service.txt pyproject.toml
	@echo "Installing Skuggbok into $(VENV) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $(LOCKS)/service.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.service $(LOCKS)/test.txt
	@echo "Installing what the tests need ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $(LOCKS)/test.txt
	@touch $@

$(VENV)/.bench: $(VENV)/.service $(LOCKS)/bench.txt tests/bench/package-lock.json tests/bench/.npmrc
	@echo "Installing the peers ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $(LOCKS)/bench.txt
	@mkdir -p $(VENV)/npm && cp tests/bench/package.json tests/bench/package-lock.json tests/bench/.npmrc $(VENV)/npm
	@if command -v npm >/dev/null; then cd $(VENV)/npm && npm ci --silent --no-audit --no-fund --ignore-scripts; \
		else echo "Without node, the peers that come by npm are not measured."; fi
	@if command -v npm >/dev/null; then touch $@; fi
