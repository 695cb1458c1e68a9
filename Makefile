# Two commands matter: `make lab` and `make test`. Both set the course up first, in .venv; the second time takes a moment.
# PYTHON is the Python that .venv is made with: `make lab PYTHON=python3.12`. Works with GNU make 3.81 (macOS) and later.

PYTHON ?= python3
# A Python that you name is used, or refused; the default may be replaced by a newer one on the PATH.
ifneq ($(origin PYTHON),file)
CHOSEN := --chosen
endif
# TORCH=2.15.* takes that torch, in build/torch-2.15; CUDA=1 takes the build with CUDA where there is no other.
VENV := $(if $(TORCH),build/torch-$(subst .*,,$(TORCH)),.venv)/bin/python
LANES ?= 4
INSTALL = @command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	echo "There is no $(PYTHON) here. Install Python 3.11 or newer, or name yours: make lab PYTHON=python3.12"; exit 1; }; \
	"$(PYTHON)" install.py $(CHOSEN) $(if $(TORCH),--torch "$(TORCH)") $(if $(CUDA),--cuda)

.PHONY: help lab test long explore mutants faults crowd serving distance storm monkey conformance fuzz torches calibrate sites containers binder attacks bench notebooks labs architecture picture look wheels publish env clean

help:  ## these lines
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "make %-10s %s\n", $$1, $$2 }'

lab:  ## set up, then open the first chapter in JupyterLab
	$(INSTALL)
	@exec $(VENV) -m course lab

# Bytecode is written whatever the shell says: the tests start some hundred Pythons, and each would compile it all anew.
# Torch's threads sleep while they wait for each other (OpenMP): by default they spin, and where several processes share
# two cores that takes a hundred times the processor time of the work.
QUIETLY = PYTHONDONTWRITEBYTECODE= OMP_WAIT_POLICY=passive

test:  ## set up, then check every chapter, lab and function in eight minutes (LANES=2: two files at a time; TORCH=2.15.*)
	$(INSTALL) --test
	@$(QUIETLY) $(VENV) -m pytest -m "not long" -n $(LANES)

long:  ## set up, then all that `make test` leaves out: style, types, storms, fuzz, clouds, contests, every page (25 minutes)
	$(INSTALL) --long
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check .
	@$(QUIETLY) $(VENV) -m pytest -m long -n $(LANES)

explore:  ## set up, then draw new examples for every property (SEED=7: those again); a find becomes an @example
	$(INSTALL) --long
	@$(VENV) -m pytest -m hypothesis --hypothesis-profile=explore -n $(LANES) $(if $(SEED),--hypothesis-seed=$(SEED))

mutants:  ## set up, then plant small bugs in a room, and say what share its tests see (ROOM=life, COUNT=100, 0 for all)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.mutants $(ROOM) --count $(or $(COUNT),100)

faults:  ## set up, then break trainings in two hundred ways, each drawn from its seed (COUNT=20: fewer; 20 minutes)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.faults --count $(or $(COUNT),200)

crowd:  ## set up, then train on 32 workers that share this machine's cores; 2.2 GB of memory (COUNT=16: fewer)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.crowd --workers $(or $(COUNT),32)

serving:  ## set up, then serve under load: 50 changes of version, 10 killed workers, 10,000 odd requests (MINUTES=10: a soak too)
	$(INSTALL) --long
	@$(VENV) -m modelserver.tests.slow $(if $(MINUTES),--minutes $(MINUTES))

distance:  ## set up, then train over lines of 0 to 100 ms, each design, on one host and between two; none quicker than its way
	$(INSTALL) --long
	@$(VENV) -m tests.slow.distance

storm:  ## set up, then break a real Slurm at random under a training; walltimes end, clients are killed (COUNT=5 SEED=2; 8 minutes)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.deploy --count $(or $(COUNT),20) --seed $(or $(SEED),1)

monkey:  ## set up, then do random things to every exhibit, in a page and in JupyterLab (COUNT=200 SEED=7; 10 minutes)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.monkey --count $(or $(COUNT),2000) --seed $(or $(SEED),1)

conformance:  ## set up, then call every op of torch on the CPU and on simulated cuda, in every way; writes a page (COUNT=1; 2 minutes)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.conformance.operators $(if $(COUNT),--most $(COUNT) --no-write)

fuzz:  ## set up, then call torch 300,000 times with odd arguments beside simulated GPUs (COUNT=5000 SEED=7; 15 minutes)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.conformance.fuzz --count $(or $(COUNT),300000) --seed $(or $(SEED),1)

# The environments of the other torches are its own, in build/torches; .venv has the course's, whatever TORCH says.
torches:  ## set up, then simgpu's tests on its oldest torch and the newest to be had (TORCH=2.14.*: that; QUICK=1; 15 minutes)
	$(subst --torch "$(TORCH)",,$(INSTALL)) --long
	@.venv/bin/python -m tests.slow.torches --torch "$(TORCH)" --lanes $(LANES) $(if $(QUICK),--quick) $(if $(REMOVE),--remove)

calibrate:  ## set up, then measure this machine's GPU: its card, and 40 programs modelled beside measured (5 minutes)
	$(INSTALL) --long
	@$(VENV) -m benchmarks.modelled

sites:  ## set up, then deploy on Slurms as other sites have them, one with accounts if slurmdbd and MariaDB are there (10 minutes)
	$(INSTALL) --long
	@$(VENV) -m pytest -p no:cacheprovider tests/slow/deploy/sites.py tests/slow/deploy/accounts.py

containers:  ## set up, then build the three images with buildah and run what compose.yaml starts (root; 15 minutes, 10 GB)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.containers

binder:  ## set up, then launch as Binder does: environment, postBuild, chapters in Chromium behind a hub's proxy (5 minutes)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.binder

attacks:  ## set up, then mark every hostile submission and every honest one (10 minutes; ONLY="fork bomb"; PEERS=1)
	$(INSTALL) --long
	@$(VENV) -m tests.slow.attacks --only "$(ONLY)" $(if $(PEERS),--peers)

bench:  ## set up, then measure each figure beside its peers and its limit (TOPIC=life QUICK=1 AGAINST=old.json PEERS=1)
	$(INSTALL) --long
	@$(VENV) -m benchmarks $(TOPIC) $(if $(QUICK),--quick) $(if $(PEERS),--peers) $(if $(AGAINST),--against "$(AGAINST)")

notebooks:  ## run every chapter's source and write its notebook
	$(INSTALL) --test
	@$(VENV) notebooks/build.py

labs:  ## make the labs' release notebooks, and in build/labs those with solutions
	$(INSTALL) --test
	@$(VENV) -m grader.lab.release

architecture:  ## draw who imports whom again, from the code, and write each room's lines and its tests' seconds
	$(INSTALL) --test
	@$(VENV) docs/architecture.py
	@$(VENV) docs/sizes.py

picture:  ## draw the README's picture again
	$(INSTALL)
	@$(VENV) docs/picture.py

look:  ## draw docs/look's pictures of all exhibits again, those that have changed (ALL=1: each)
	$(INSTALL) --test
	@$(VENV) -m tests.browser.look $(if $(ALL),--all)

wheels:  ## set up, then build the four distributions' wheels into dist/: simgpu, modelserver, course-grader, course
	$(INSTALL)
	@$(VENV) -m pip wheel --no-deps --quiet --wheel-dir dist ./simgpu ./modelserver ./grader . && ls dist

publish:  ## set the repository's address everywhere: REPOSITORY=https://github.com/OWNER/NAME
	$(INSTALL)
	@$(VENV) docs/publish.py $(REPOSITORY)

env:  ## set up only: .venv with the course in it
	$(INSTALL)

clean:  ## remove .venv and what tests and builds left
	rm -rf .venv build dist .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
