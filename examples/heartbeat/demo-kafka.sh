#!/usr/bin/env bash
# Runs the heartbeat example on Kafka for a few seconds: sensors report to the topic
# sensors, alerts go to a table and from there to the topic sensorAlerts, both exactly
# once. Usage: demo-kafka.sh BINARY FOLDER, with TWS_KAFKA and TWS_KAFKA_SCRIPT as
# runtime/stream/kafka/broker/broker.sh run sets them.
#
# Every run begins anew: FOLDER, and both topics of a broker that ran before, are
# deleted first.
set -euo pipefail

bin=$1
dir=$2
kafka() { "$TWS_KAFKA_SCRIPT" "$@"; }
rm -rf "$dir"
mkdir -p "$dir"
dir=${dir#"$PWD/"}
kafka topic --delete --if-exists --topic 'sensors|sensorAlerts'
for topic in sensors sensorAlerts; do kafka topic --create --topic "$topic" --partitions 3; done > /dev/null

# The sensors: 3 and 5 report twice and fall silent, 1, 2 and 4 go on.
report() {
	local sensor
	for sensor in "$@"; do printf '{"sensor_id":%d,"sensor_type":"temperature","sensor_value":%d}\n' "$sensor" $((20 + sensor)); done
}
sensors() {
	local step
	for ((step = 0; ; step++)); do
		[ ! -e "$dir/stop" ] || return 0
		if ((step < 2)); then report 1 2 3 4 5; else report 1 2 4; fi
		sleep 0.5
	done
}
echo "Sensors 1 to 5 report to the topic sensors; 3 and 5 fall silent after half a second."
sensors | kafka tool org.apache.kafka.tools.ConsoleProducer --bootstrap-server "$TWS_KAFKA" --topic sensors > /dev/null &
producer=$!

TWS_CLUSTERS_MAIN_BROKERS=$TWS_KAFKA "$bin" run --checkpoint "$dir/checkpoint" --tables "$dir/tables" \
	--trigger 250ms --conf source=kafka --conf patience=3s &
pid=$!
trap 'touch "$dir/stop"; kill "$pid" 2> /dev/null || true' EXIT

# The run ends when both alerts are there, however long programs take to start.
kafka tool org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$TWS_KAFKA" --topic sensorAlerts \
	--from-beginning --isolation-level read_committed --formatter-property print.key=true \
	--max-messages 2 --timeout-ms 30000 > "$dir/alerts" 2> "$dir/consumer.log" || true
touch "$dir/stop"
wait "$producer"
kill -TERM "$pid" 2> /dev/null || true # it may have failed: wait tells
wait "$pid"
trap - EXIT

if (($(wc -l < "$dir/alerts") < 2)); then
	cat "$dir/consumer.log" >&2
	echo "demo-kafka.sh: no alert came to the topic sensorAlerts for half a minute" >&2
	exit 1
fi
echo
echo "The topic sensorAlerts, as a consumer that reads committed messages sees it:"
cat "$dir/alerts"
