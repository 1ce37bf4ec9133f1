# Skuggbok: `make run` and `make test` set up what they need. PYTHON names a Python 3.11 or newer.

PYTHON ?= python3
VENV ?= .venv
DATA ?= data
PORT ?= 8000
BIN := $(VENV)/bin
LOCKS := deploy/requirements

.PHONY: help run serve test check lock clean

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

lock: ## choose the newest versions that pyproject.toml allows
	$(BIN)/pip install --quiet "uv>=0.9"
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.11 \
		pyproject.toml --group build -o $(LOCKS)/service.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.11 \
		pyproject.toml --group build --group test -o $(LOCKS)/test.txt

clean: ## remove the environment and caches; data stay
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
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
