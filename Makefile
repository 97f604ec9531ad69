# Each target sets up what it needs; an install is done again only when pyproject.toml or setup.py changed.
PYTHON ?= python3
BIN := .venv/bin
BOOKS := $(wildcard notebooks solutions)
BENCHES := $(sort $(wildcard benchmarks/bench_*.py))
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 60

.PHONY: lab test notebooks bench

lab: .venv/all.stamp
	$(BIN)/labkit lab work

test: .venv/dev.stamp
	@sh .ci/browser
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(NBVAL) tests $(BOOKS)

# Runs every notebook again, stores it in the normal form and releases the exercises.
notebooks: .venv/dev.stamp
	$(BIN)/jupyter execute --inplace $(shell find $(BOOKS) -name '*.ipynb' -not -path '*/.ipynb_checkpoints/*' | sort)
	$(BIN)/python -m labkit.classroom.normalise $(BOOKS)
	$(BIN)/labkit release solutions

bench: .venv/dev.stamp
	@test -n "$(BENCHES)" || { echo "benchmarks/ holds no bench_*.py"; exit 1; }
	@set -e; for file in $(BENCHES); do $(BIN)/python $$file; done

.venv/%.stamp: pyproject.toml setup.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@
