#!/usr/bin/env bash
# Runs the heartbeat example for a few seconds while sensors report, then shows
# the table of alerts. Usage: demo.sh BINARY FOLDER
#
# FOLDER keeps input, checkpoint and tables, so the next run goes on from this
# one. Silence is three seconds here instead of five minutes.
set -euo pipefail

bin=$1
dir=$2
[ -e "$dir/checkpoint" ] || rm -rf "$dir" # a first run that failed left nothing to go on from
mkdir -p "$dir/sensors"
run=$(($(ls "$dir/sensors" | sed -n 's/^run\([0-9]*\)-.*/\1/p' | sort -n | tail -n 1) + 1))

# report STEP SENSOR...: the sensors report once. A file is complete when it gets
# its name.
report() {
	local step=$1 sensor
	shift
	local name
	name=$(printf 'run%d-%03d.jsonl' "$run" "$step")
	for sensor in "$@"; do
		printf '{"sensor_id":%d,"sensor_type":"%s","sensor_value":%d}\n' \
			"$sensor" "$( ((sensor % 2)) && echo temperature || echo pressure)" $((20 + sensor + step))
	done > "$dir/sensors/$name.tmp"
	mv "$dir/sensors/$name.tmp" "$dir/sensors/$name"
}

case $run in
1)
	first=(1 2 3 4 5) alive=(1 2 4) steps=11
	echo "Five sensors report. 3 and 5 fall silent after half a second; 1, 2 and 4 go on." ;;
*)
	if ((run % 2 == 0)); then alive=(1 3); else alive=(2 4 5); fi
	first=("${alive[@]}") steps=9
	echo "Only the sensors ${alive[*]} report now. Whoever was alive at the end of the last run and is silent since raises an alert." ;;
esac
echo

report 0 "${first[@]}"
dir=${dir#"$PWD/"}
"$bin" run --checkpoint "$dir/checkpoint" --tables "$dir/tables" --trigger 250ms \
	--conf sensors="$dir/sensors" --conf patience=3s &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' EXIT

for ((step = 1; step < steps; step++)); do
	sleep 0.5
	kill -0 "$pid" 2>/dev/null || { wait "$pid"; exit $?; }
	if ((step == 1)); then report "$step" "${first[@]}"; else report "$step" "${alive[@]}"; fi
done
sleep 0.5
kill -TERM "$pid"
trap - EXIT
wait "$pid"

echo
echo "The table sensorAlerts in $dir/tables:"
"$bin" table show sensorAlerts --tables "$dir/tables"
