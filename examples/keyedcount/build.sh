#!/usr/bin/env bash
# Builds the pipeline with RocksDB, for start.sh. Usage: build.sh [BINARY]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
make -s env
set -a
source .tmp/env.sh
set +a
go build -o "${1:-.tmp/bin/keyedcount}" ./examples/keyedcount/cmd/keyedcount
