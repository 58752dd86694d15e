# Everything installs itself: on a fresh machine with Python 3.11, g++ and cmake, `make demo` and `make test` just run.
PYTHON ?= python3
ASCEND := .venv/ascend
STOCK := .venv/stock
LINT := .venv/lint
# Quiet, reproducible pip; torch must be there before anything that depends on it is resolved.
PIP_FLAGS := --quiet --disable-pip-version-check
# Whole files, so that what a file sets up is set up once; a worker on the simulator may need 2 GiB.
PYTEST := -m pytest -n logical --maxprocesses 4 --dist loadfile
SOURCES := $(shell find csrc third_party/cann_sim -name '*.cpp' -o -name '*.h' | grep -v '/build/')

.PHONY: demo test test-ascend test-stock test-cuda bench lint format clean env

env: $(ASCEND)/.installed $(STOCK)/.installed

# Make must not take the stamps away as intermediate files.
.SECONDARY: $(ASCEND)/.requirements $(STOCK)/.requirements

# One recipe for both environments: $* is ascend or stock.
.venv/%/.requirements: requirements/%.txt requirements/test.txt
	$(PYTHON) -m venv .venv/$*
	.venv/$*/bin/pip install $(PIP_FLAGS) torch==2.13.0
	.venv/$*/bin/pip install $(PIP_FLAGS) -r requirements/$*.txt -r requirements/test.txt
	touch $@

# Editable, so Python changes need no new install; a change of csrc or of the build files builds anew.
.venv/%/.installed: .venv/%/.requirements setup.py pyproject.toml CMakeLists.txt $(wildcard csrc/*)
	.venv/$*/bin/pip install $(PIP_FLAGS) --editable .
	touch $@

demo: $(ASCEND)/.installed
	$(ASCEND)/bin/python examples/demo.py

test: test-ascend test-stock

test-ascend: $(ASCEND)/.installed
	$(ASCEND)/bin/triton-ascend-tune sim build
	$(ASCEND)/bin/python $(PYTEST) tests --ignore=tests/stock --ignore=tests/cuda

test-stock: $(STOCK)/.installed
	$(STOCK)/bin/python $(PYTEST) tests --ignore=tests/ascend --ignore=tests/simulator --ignore=tests/cuda

# On a machine with a CUDA device, in an environment that has torch, stock Triton, pytest and this package.
test-cuda:
	TRITON_ASCEND_TUNE_TARGETS=cuda $(PYTHON) -m pytest tests/cuda

bench: $(ASCEND)/.installed
	$(ASCEND)/bin/python benchmarks/run_all.py

$(LINT)/.installed: requirements/lint.txt
	$(PYTHON) -m venv $(LINT)
	$(LINT)/bin/pip install $(PIP_FLAGS) -r requirements/lint.txt
	touch $@

lint: $(LINT)/.installed
	$(LINT)/bin/ruff check .
	$(LINT)/bin/ruff format --check .
	@$(LINT)/bin/clang-format --dry-run --Werror $(SOURCES)
	$(LINT)/bin/mypy triton_ascend_tune

format: $(LINT)/.installed
	$(LINT)/bin/ruff check --fix .
	$(LINT)/bin/ruff format .
	@$(LINT)/bin/clang-format -i $(SOURCES)

clean:
	rm -rf build dist .venv *.egg-info
