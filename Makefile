# Each target sets up what it needs; an install is done again only when pyproject.toml or setup.py changed.
PYTHON ?= python3
BIN := .venv/bin
BOOKS := $(wildcard notebooks solutions)
BENCHES := $(sort $(wildcard benchmarks/bench_*.py))
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 60

# Tests and lessons start many interpreters: what one has compiled the next one finds, whatever the session has set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: lab test notebooks bench soak

lab: .venv/all.stamp
	$(BIN)/labkit lab work

# Four workers for two processors: each waits now and then, for a child, a browser or a disk.
test: .venv/dev.stamp
	@sh .ci/browser
	$(BIN)/ruff check .
	@sh .ci/beside "$(BIN)/mypy" "$(BIN)/python -m pytest -n 4 --dist loadfile $(NBVAL) tests $(BOOKS)"

# Runs every notebook again, stores it in the normal form and releases the exercises.
notebooks: .venv/dev.stamp
	$(BIN)/jupyter execute --inplace $(shell find $(BOOKS) -name '*.ipynb' -not -path '*/.ipynb_checkpoints/*' | sort)
	$(BIN)/python -m labkit.classroom.normalise $(BOOKS)
	$(BIN)/labkit release solutions

bench: .venv/dev.stamp
	@test -n "$(BENCHES)" || { echo "benchmarks/ holds no bench_*.py"; exit 1; }
	@set -e; for file in $(BENCHES); do $(BIN)/python $$file; done

# All answers of the corpus, all mutants, and every crossing of every case under real kills: `make test` takes each thirteenth of these.
# Real processes on one queue, killed throughout; ends with what was submitted less what the ledger shows, which must be nothing.
# Then 10,000 drawn schedules over sagas, checkpoints and agents, which must find nothing; and the whole corpus graded as a class hands it in.
soak: .venv/dev.stamp
	$(BIN)/python -m pytest -n 3 --dist loadfile -m sampled --whole tests
	$(BIN)/python -m tests.queue.soaking
	$(BIN)/python -m tests.searching
	$(BIN)/python -m tests.classroom.grading_corpus

# Beside the install this only saves time: a pip of today needs half as long as one of 2023; of what is installed only that is compiled
# which an answer may import, since a check does not wait for it; and without the grammars of rfc3987-syntax, which only check addresses
# in letters of all countries, whatever loads a notebook's format starts two seconds sooner.
.venv/%.stamp: pyproject.toml setup.py
	@echo "installing into .venv (about a minute) ..."
	$(PYTHON) -m venv .venv
	@-$(BIN)/python -m pip install --quiet --no-compile --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[$*]'
	@-$(BIN)/python -m pip uninstall --quiet --yes rfc3987-syntax
	@-$(BIN)/python -m compileall -q -j 2 $(addprefix .venv/lib/*/site-packages/,sqlalchemy pydantic psycopg)
	@touch $@
