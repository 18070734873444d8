# Every target makes the virtual environment it needs; the second run is quick.
# pip's own settings (index, proxy, constraints) are honoured: nothing here overrides them.

PYTHON ?= python3
VENV ?= .venv
FLOOR_VENV ?= .venv-floor
NEURAL_VENV ?= .venv-neural
SCANNER_VENV ?= .venv-scanner
TORCH ?= torch==2.13.0
SKILLS ?= examples/skills
BENCH_DATA ?=
BENCH_REQUESTS ?=
BENCH_CONVERSATIONS ?=
BENCH_MODELS ?=
BENCH_URL ?=
BENCH_SIZE ?= 34000
PIP = -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test lint types test-floor test-neural test-scanner encoders bench bench-scale docs clean

help:
	@echo "make demo                  the main job on the example library, in both frameworks"
	@echo "make demo SKILLS=/a/path   the same on your own skills"
	@echo "make test                  tests, ruff, mypy, import-linter"
	@echo "make test-floor            framework tests with the oldest supported versions"
	@echo "make test-neural           tests that need PyTorch (TORCH=\"torch==x.y\" picks another)"
	@echo "make test-scanner          tests of the adapter for cisco-ai-skill-scanner"
	@echo "make encoders              rebuild the embedded models and compare them by their vectors"
	@echo "make bench                 benchmarks (BENCH_DATA=/path adds the large pools and what is found)"
	@echo "make bench-scale           a library on PostgreSQL under load (BENCH_URL=postgresql://... BENCH_SIZE=34000)"
	@echo "make docs                  generated parts of the documentation"

demo: $(VENV)/.installed-demo
	@$(VENV)/bin/skillcue demo --skills "$(SKILLS)"

test: lint types
	$(VENV)/bin/python -m pytest -n auto

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports

types: $(VENV)/.installed-dev
	$(VENV)/bin/mypy

test-floor: $(FLOOR_VENV)/.installed
	$(FLOOR_VENV)/bin/python -m pytest tests/langgraph tests/llamaindex tests/mcp tests/hooks \
		-o filterwarnings=default -p no:cacheprovider
	PYTHONPATH=$(FLOOR_VENV)/pluggy-floor $(FLOOR_VENV)/bin/python tests/floor_pluggy.py

test-neural: $(NEURAL_VENV)/.installed
	$(NEURAL_VENV)/bin/python -m pytest tests/neural

test-scanner: $(SCANNER_VENV)/.installed
	$(SCANNER_VENV)/bin/python -m pytest tests/scanner

encoders: $(NEURAL_VENV)/.installed
	$(NEURAL_VENV)/bin/python -m skillcue_adapters.encoders.build_models --out build/encoders --compare

bench: $(VENV)/.installed-dev
	$(VENV)/bin/python tests/bench/run.py $(if $(BENCH_DATA),--data "$(BENCH_DATA)") \
		$(if $(BENCH_REQUESTS),--requests "$(BENCH_REQUESTS)") \
		$(if $(BENCH_CONVERSATIONS),--conversations "$(BENCH_CONVERSATIONS)") \
		$(if $(BENCH_MODELS),--models "$(BENCH_MODELS)")

bench-scale: $(VENV)/.installed-dev
	$(VENV)/bin/python tests/bench/bench_scale.py --size "$(BENCH_SIZE)" --bulk \
		$(if $(BENCH_DATA),--data "$(BENCH_DATA)") $(if $(BENCH_URL),--url "$(BENCH_URL)")
	$(VENV)/bin/python tests/bench/scale_replica.py

docs: $(VENV)/.installed-dev
	$(VENV)/bin/python docs/generate_api_reference.py
	$(VENV)/bin/python docs/generate_benchmarks.py
	$(VENV)/bin/python docs/generate_diagnostics_reference.py
	$(VENV)/bin/python docs/generate_hooks_reference.py
	$(VENV)/bin/python docs/generate_settings_reference.py

clean:
	rm -rf $(VENV) $(FLOOR_VENV) $(NEURAL_VENV) $(SCANNER_VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "skillcue needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-demo: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) -e ".[all]"
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python $(PIP) -e ".[dev]" -e examples/custom_adapter
	@touch $@ $(VENV)/.installed-demo

$(FLOOR_VENV)/.installed: pyproject.toml tests/floor-requirements.txt
	$(PYTHON) -m venv $(FLOOR_VENV)
	$(FLOOR_VENV)/bin/python $(PIP) -r tests/floor-requirements.txt -e .
	$(FLOOR_VENV)/bin/python $(PIP) --no-deps --target $(FLOOR_VENV)/pluggy-floor pluggy==1.2.0
	@touch $@

$(NEURAL_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(NEURAL_VENV)
	$(NEURAL_VENV)/bin/python $(PIP) "$(TORCH)"
	$(NEURAL_VENV)/bin/python $(PIP) -e ".[dev,neural,build-encoders]"
	@touch $@

$(SCANNER_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SCANNER_VENV)
	$(SCANNER_VENV)/bin/python $(PIP) -e ".[scanner]" "pytest>=9.0.3,<10" "pytest-asyncio>=1,<2" hypothesis
	@touch $@
