#!/bin/sh
# Shows a pipeline's table as the deltalake package reads it, and fails unless
# the pipeline's own binary shows the same rows.
# Usage: run.sh VENV TABLE BINARY
set -eu
if [ $# -ne 3 ]; then
	echo "usage: run.sh VENV TABLE BINARY" >&2
	exit 2
fi
venv=$1 table=$2 binary=$3
check=$(dirname "$0")/check.sh
ours=$(mktemp)
trap 'rm -f "$ours"' EXIT
"$binary" table show "$(basename "$table")" --tables "$(dirname "$table")" > "$ours"
sh "$check" "$table" --venv "$venv"
sh "$check" "$table" --venv "$venv" --like "$ours"
