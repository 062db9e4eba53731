#!/bin/sh
# Runs check.py with its arguments, or says what is missing.
if ! command -v python3 >/dev/null 2>&1; then
	echo "interop: python3 is not installed; reading a table with another Delta reader needs it" >&2
	exit 1
fi
exec python3 "$(dirname "$0")/check.py" "$@"
