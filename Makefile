# Everything runs from .venv, which the first target that needs it sets up.
# It takes make and Python 3.11 or newer; nothing has to be installed by hand.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Else each of the many processes of the tests compiles what it imports.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
READY := $(VENV)/.ready
WHEEL := build/wheel-test
# A wheel holds the same modules, which a test compares; what can differ is whether it has all that is needed, and
# what it is started by. So each package, command and extra is used once, and no table is gone through again.
IN_A_WHEEL := $(wildcard tests/test_console_*.py tests/test_docs*.py) $(foreach name,packaging architecture readme \
	adapter_pages contract_yaml quick_paths guard_tools ledger_files ledger_urls ledger_races outcomes_answers \
	functions httpx_transport langgraph openai_agents openai_loop anthropic_conformance mcp_proxy mcp_proxy_pipe \
	confirm_http bound_command sandbox_ab sandbox_eval sandbox_eval_pytest sandbox_html sandbox_mcp sandbox_models \
	sandbox_report,tests/test_$(name).py)

# `make test ARGS="-k ledger"` hands arguments on to the program that a target runs.
ARGS ?=

# The first of these that is 3.11 or newer and can make environments; `make test PYTHON=/path/to/python` overrides it.
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
IS_USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in $(CANDIDATES); do \
	"$$python" -c '$(IS_USABLE)' >/dev/null 2>&1 && echo "$$python" && break; done)

# An editable install holds absolute paths: set up again where the checkout has moved.
ifneq ($(shell cat $(READY) 2>/dev/null),$(CURDIR))
$(READY): FORCE
endif

$(READY): pyproject.toml
	@[ -n "$(PYTHON)" ] && "$(PYTHON)" -c '$(IS_USABLE)' >/dev/null 2>&1 || \
		{ echo "error: needs Python 3.11 or newer with its venv module: install it, or say make PYTHON=/path/to/python" >&2; exit 2; }
	@echo "Setting up $(VENV) (once, about a minute)"
	@[ "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" ] || rm -rf $(VENV)
	@"$(PYTHON)" -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --editable . --group dev
	@echo "$(CURDIR)" > $@

.PHONY: FORCE
FORCE:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: venv
venv: $(READY) ## set up .venv with the project and its tools

.PHONY: ab
ab: $(READY) ## run the sandbox with the guard off and on, and compare
	@$(VENV)/bin/retry-guard ab $(ARGS)

.PHONY: study
study: $(READY) ## every arm of the sandbox on the whole grid: more episodes than the study had
	@$(VENV)/bin/retry-guard ab --conditions all --attempts-hit 1 $(ARGS)

.PHONY: test
test: $(READY) ## run the whole test suite
	@echo "Running the tests"
	@$(VENV)/bin/pytest -n auto --dist worksteal $(ARGS)

.PHONY: lint
lint: $(READY) ## ruff: rules and format
	@echo "Checking rules and format"
	@$(VENV)/bin/ruff check $(ARGS)
	@$(VENV)/bin/ruff format --check $(ARGS)

.PHONY: types mypy basedpyright
types: mypy basedpyright ## mypy and basedpyright, both strict

mypy: $(READY)
	@echo "Checking types with mypy"
	@$(VENV)/bin/mypy $(ARGS)

basedpyright: $(READY)
	@echo "Checking types with basedpyright"
	@$(VENV)/bin/basedpyright $(ARGS)

.PHONY: docs
docs: $(READY) ## write the generated parts of README.md anew
	@$(VENV)/bin/python docs/generate.py

.PHONY: docs-check
docs-check: $(READY) ## fail where README.md differs from what would be generated
	@$(VENV)/bin/python docs/generate.py --check

.PHONY: bench soak fuzz scale
bench: ## side by side with raw calls and peers: ratios of one run
soak: ## many calls for a long time: nothing leaks, nothing is lost
fuzz: ## many more random examples than the test suite runs
scale: ## large ledgers: claim time by number of records
bench soak fuzz scale: $(READY)
	@[ -f benchmarks/$@.py ] || { echo "error: benchmarks/$@.py does not exist yet" >&2; exit 2; }
	@echo "Running benchmarks/$@.py"
	@$(VENV)/bin/python benchmarks/$@.py $(ARGS)

.PHONY: servers
servers: $(READY) ## install the third-party MCP servers that tests run
	@$(VENV)/bin/python tests/mcp_servers_installed.py

.PHONY: wheel-test wheel wheel-run
wheel-test: wheel ## build the wheel, install it in a clean environment and test that
	@$(MAKE) --no-print-directory wheel-run

wheel: $(READY)
	@echo "Building the wheel"
	@rm -rf $(WHEEL)
	@$(VENV)/bin/hatchling build -t wheel -d $(WHEEL) >/dev/null
	@echo "Installing it in a clean environment"
	@$(VENV)/bin/python -m venv $(WHEEL)/venv
	@$(WHEEL)/venv/bin/python -m pip install -qq --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(WHEEL)/venv/bin/python -m pip install -qq --disable-pip-version-check $(WHEEL)/*.whl --group test

wheel-run:
	@echo "Running the tests against the wheel"
	@RETRY_GUARD_TEST_INSTALLED=wheel $(WHEEL)/venv/bin/pytest -n auto --dist worksteal -o cache_dir=$(WHEEL)/cache $(IN_A_WHEEL) $(ARGS)

.PHONY: clean
clean: ## remove what builds and tools left behind, .venv too
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
