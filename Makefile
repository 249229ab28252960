# Two commands do everything on a fresh machine with Python 3.11: `make demo` and `make test`.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test slow lint proto docs bench results publish-results notebooks clean

demo: $(VENV)/installed
	$(BIN)/siloseal demo

test: $(VENV)/installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

slow: $(VENV)/installed
	$(BIN)/pytest -m slow

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The Python stubs of the wire's messages, after a change of a .proto. The compiler is that of protobuf 6.31, whose stubs run
# under protobuf 6.31 to 7; it needs protobuf below 7 itself, so it has an environment of its own.
WIRE := siloseal/federation/transport/wire
PROTOC := build/protoc/bin/python -m grpc_tools.protoc --proto_path=.

proto: build/protoc/installed
	rm -f $(WIRE)/*_pb2.py $(WIRE)/*_pb2.pyi $(WIRE)/*_pb2_grpc.py
	$(PROTOC) --python_out=. --pyi_out=. $(WIRE)/*.proto
	$(PROTOC) --grpc_python_out=. $(WIRE)/consortium.proto
	cd $(WIRE) && LC_ALL=C sha256sum *.proto *_pb2.py *_pb2.pyi *_pb2_grpc.py > SHA256SUMS

build/protoc/installed: Makefile
	$(PYTHON) -m venv build/protoc || python3 -m venv build/protoc
	build/protoc/bin/python -m pip install --quiet grpcio-tools==1.76.0
	touch $@

# The pages of docs/ that are generated: every setting, every command, every sum. A test notices when they are not current.
docs: $(VENV)/installed
	$(BIN)/python -m siloseal.reference docs

bench: $(VENV)/installed
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/dp_training.py
	$(BIN)/python benchmarks/meta.py
	$(BIN)/python benchmarks/ckks.py
	$(BIN)/python benchmarks/masked_sums.py
	$(BIN)/python benchmarks/mechanisms.py
	$(BIN)/python benchmarks/transport.py
	$(BIN)/python benchmarks/thousand_silos.py

# Every measured table and figure of README and docs/comparisons.md, in runs/results: three hours, and needs SILOSEAL_DATA.
# Finished parts are found again; remove it and runs/demo to measure anew.
results: $(VENV)/installed runs/demo/summary.json
	$(BIN)/siloseal compare configs/compare-*.yaml --out runs/results
	$(BIN)/python -m siloseal.experiments.report.demo runs/demo runs/results/demo

runs/demo/summary.json: | $(VENV)/installed
	$(BIN)/siloseal demo

# For those who change README or docs/comparisons.md: what they quote, and a test compares with.
publish-results: results
	mkdir -p docs/results/figures
	rm -f docs/results/figures/*.png
	cp runs/results/report.md docs/results/README.md
	cp runs/results/demo/report.md docs/results/demo.md
	cp runs/results/demo/printed.txt docs/results/demo.txt
	cp runs/results/figures/*.png runs/results/demo/figures/*.png docs/results/figures/

notebooks: $(VENV)/installed
	$(BIN)/python -m nbconvert --execute --to html --output-dir notebooks/html notebooks/*.ipynb

$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build/protoc .mypy_cache .ruff_cache .pytest_cache .hypothesis
