#!/usr/bin/env bash
# Runs the pipeline under a harness that compares stream processors on one
# workload: it becomes the process, reads IN_TOPIC from its beginning, and runs
# until it is killed. From the environment:
#   BOOTSTRAP           the broker, host:port
#   IN_TOPIC OUT_TOPIC  the topics
#   MODE                at_least_once or exactly_once
#   LINGER_MS           how long the producer waits to fill a batch (default 0)
#   WORK_DIR            an empty folder for the checkpoint
#   TRIGGER             the interval between epochs (default 100ms)
#   TWS_BINARY          the program (default: where build.sh puts it)
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
export TWS_CLUSTERS_MAIN_BROKERS=$BOOTSTRAP
exec "${TWS_BINARY:-$root/.tmp/bin/keyedcount}" run \
	--checkpoint "$WORK_DIR/checkpoint" --trigger "${TRIGGER:-100ms}" --log text \
	--conf in="$IN_TOPIC" --conf out="$OUT_TOPIC" --conf guarantee="${MODE//_/-}" --conf linger="${LINGER_MS:-0}ms" \
	--conf tws.partitions="${PARTITIONS:-2}"
