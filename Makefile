# make run measures this machine; make test runs all tests that need no GPU; make wheel packs the engines of every compiler
# found here. Each does all of its own set-up.
.DELETE_ON_ERROR:
.PHONY: run wheel docs test test-device lint format setup clean

BIN := .venv/bin
NO_PYTHON := python3 is missing: install it, on Debian and Ubuntu by apt-get install -y python3 python3-venv
SETUP = $(if $(shell sh -c 'command -v python3'),python3 tools/setup,$(error $(NO_PYTHON)))
# SUITES, OPTIONS and RUN may be given: make run SUITES=sweep OPTIONS='--devices gpu:0,gpu:1' RUN=runs/pair
SUITES ?=
OPTIONS ?=
CPP_FILES := engine tests examples -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh'
PYTHON_FILES := python tools tests bench examples
TEST_BUILD := --unit-tests --mpi --engines host --build build/test --build-type None
LINT_ENGINES ?= host
ON_TEST_ENGINE := LINKSCOPE_ENGINE_DIR=$(CURDIR)/build/test
# Tests of processes wait for most of their time. Files stay whole: what theirs share is made once. Their order is that of
# tests/multi/conftest.py.
TWO_AT_A_TIME := -n 2 --dist loadfile --no-loadscope-reorder
# Tests start hundreds of Pythons: they find their modules compiled, also where that is off.
COMPILED := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/build/test/pycache
CTEST := PATH="$(CURDIR)/$(BIN):$$PATH" ctest --output-on-failure

# A row that failed is in the run file and on the page too, so the page comes before the exit code.
run: setup
	@run=$(RUN); run=$${run:-runs/$$(uname -n)-$$(date +%Y%m%d-%H%M%S)}; mkdir -p $$(dirname $$run); \
	$(BIN)/linkscope run $(SUITES) $(OPTIONS) -o $$run.jsonl --report

wheel:
	@$(SETUP) --wheel dist

# build/site/index.html. What methods and memories say of themselves comes from the engines that are built already.
docs:
	@$(SETUP) --extra docs --engines none
	@$(BIN)/python tools/site

# Tests in Python wait for a third of their time: those in C++ run beside them.
test:
	@$(SETUP) --extra test $(TEST_BUILD)
	@$(BIN)/python tools/check_layers.py
	@$(BIN)/python tools/check_names.py
	@$(BIN)/python tools/check_messages.py
	@$(CTEST) --test-dir build/test >build/test/ctest.log 2>&1 & unit=$$!; \
	$(ON_TEST_ENGINE) $(COMPILED) $(BIN)/python -m pytest $(TWO_AT_A_TIME) tests/python tests/multi; code=$$?; \
	wait $$unit && tail -n 12 build/test/ctest.log || { cat build/test/ctest.log; code=1; }; exit $$code

test-device:
	@$(SETUP) --extra test --unit-tests
	@$(CTEST) --test-dir build/engines -R '^gpu\.' --no-tests=ignore
	@LINKSCOPE_ENGINE_DIR=$(CURDIR)/build/engines $(BIN)/python -m pytest tests/device

lint:
	@$(SETUP) --extra dev --engines $(LINT_ENGINES) --until configured --build build/lint
	@$(BIN)/ruff check $(PYTHON_FILES)
	@$(BIN)/ruff format --check $(PYTHON_FILES)
	@$(BIN)/mypy
	@find $(CPP_FILES) | xargs $(BIN)/clang-format --dry-run -Werror
	@$(BIN)/python tools/tidy.py build/lint

format:
	@$(SETUP) --extra dev --engines none
	@find $(CPP_FILES) | xargs $(BIN)/clang-format -i
	@$(BIN)/ruff format $(PYTHON_FILES)
	@$(BIN)/ruff check --fix $(PYTHON_FILES)

setup:
	@$(SETUP)

# Leaves .venv, which git ignores like build and takes longest to make again; remove it by hand.
clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache
