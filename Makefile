# tws: stateful stream processing for Go. `make help` lists the targets.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS   += --no-print-directory

# What only this machine needs lies in .tmp; `make clean` removes it.
TMP    := $(CURDIR)/.tmp
BIN    := $(TMP)/bin
DEMO   := $(TMP)/demo
# The cgo variables of RocksDB, or CGO_ENABLED=0 where there is no RocksDB.
ENV    := set -a; source $(TMP)/env.sh; set +a;

BROKER := runtime/stream/kafka/broker/broker.sh
# The tag of tests that need a broker. -tags on a command line replaces the tags of
# GOFLAGS, so the one that RocksDB needs is said again.
BROKER_TAGS := -tags kafka_broker,grocksdb_no_link

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Packages without cgo or third-party C: what the race detector runs on.
PURE := ./schemas/... ./codec/... ./gen/... ./cmd/... ./runtime ./runtime/checkpoint/... ./runtime/internal/... \
	./runtime/epoch/... ./runtime/store ./runtime/store/mem/... ./runtime/stream/... ./runtime/table/... ./runtime/twstest/... \
	./runtime/app/... ./golden/crash/... ./golden/kafka/...

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

.PHONY: run
run: build ## run the heartbeat example on embedded defaults; run it again and it goes on
	@examples/heartbeat/demo.sh $(BIN)/heartbeat $(DEMO)/heartbeat

.PHONY: run-kafka
run-kafka: build ## run the heartbeat example on Kafka, with a broker that is fetched, started and stopped
	@$(BROKER) run examples/heartbeat/demo-kafka.sh $(BIN)/heartbeat $(DEMO)/heartbeat-kafka

.PHONY: build
build: generate ## build the examples into .tmp/bin
	@$(ENV) go build -o $(BIN)/ ./examples/heartbeat/cmd/heartbeat ./examples/keyedcount/cmd/keyedcount

.PHONY: generate
generate: env ## bring all generated code up to date
	@CGO_ENABLED=0 go generate ./examples/... ./golden/dialogue/... ./golden/kafka/...

.PHONY: test
test: env ## run all tests; no service to start
	@$(ENV) go test ./...

# Starts a broker of its own and stops it, whatever happens. Packages one after
# another, as their tests stop and kill it.
BROKER_TESTS := ./runtime/stream/kafka/... ./golden/kafka/... ./examples/...
.PHONY: test-kafka
test-kafka: env ## run the tests that need a real Kafka broker, which it fetches, starts and stops
	@$(ENV) $(BROKER) run go test $(BROKER_TAGS) -p 1 -count=1 -timeout 20m $(BROKER_TESTS)

.PHONY: race
race: ## run the tests of the pure-Go packages under the race detector
	@go test -race $(PURE)

.PHONY: lint
lint: env ## gofmt, go vet, staticcheck, and no generated file out of date
	@files=$$(git ls-files '*.go' | xargs gofmt -l); test -z "$$files" || { echo "not gofmt-clean:" $$files; exit 1; }
	@$(ENV) go vet ./...
	@CGO_ENABLED=0 go vet ./...
	@$(ENV) go vet $(BROKER_TAGS) ./...
	@$(ENV) go run $(STATICCHECK) $(BROKER_TAGS) ./...
	@$(BIN)/tws-gen check ./examples/... ./golden/dialogue/... ./golden/kafka/...

.PHONY: golden
golden: env ## re-record all golden files; review the diff
	@$(ENV) for dir in $$(go list -f '{{.Dir}}' ./...); do \
		grep -qsE 'flag\.Bool\("update"|/tws/runtime/twstest"' $$dir/*_test.go || continue; \
		(cd $$dir && go test . -count=1 -update) || exit 1; \
	done

.PHONY: bench
bench: env ## run the benchmarks that lie beside the code, and the keyed count on a real broker
	@$(ENV) go test -run '^$$' -bench . -benchmem ./...
	@$(ENV) $(BROKER) run go test $(BROKER_TAGS) -run '^$$' -bench KeyedCount -benchtime 1x ./examples/keyedcount

.PHONY: interop
interop: build ## open the example's table with the deltalake package from PyPI
	@examples/heartbeat/demo.sh $(BIN)/heartbeat $(DEMO)/interop > /dev/null
	@runtime/table/interop/run.sh $(TMP)/venv $(DEMO)/interop/tables/sensorAlerts $(BIN)/heartbeat

.PHONY: clean
clean: ## remove everything that was built, fetched into .tmp, or left by make run
	@$(BROKER) stop
	@rm -rf $(TMP)

# env builds the generator and asks it how to build against RocksDB, fetching it
# the first time. Where it cannot be had, everything works on the memory store.
# What tws-gen says on the way is shown, its last word in one line.
.PHONY: env
env:
	@mkdir -p $(BIN)
	@CGO_ENABLED=0 go build -o $(BIN)/tws-gen ./cmd/tws-gen
	@if ! $(BIN)/tws-gen env 2>&1 > $(TMP)/env.sh.new | tee $(TMP)/env.err | sed -u '/^rocksenv: fetching/!d' >&2; then \
		echo "RocksDB is not available, using the memory store; to see what helps, run: $(BIN)/tws-gen env" >&2; \
		echo "export CGO_ENABLED='0'" > $(TMP)/env.sh.new; \
	fi
	@mv $(TMP)/env.sh.new $(TMP)/env.sh
