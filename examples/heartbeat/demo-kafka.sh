#!/usr/bin/env bash
# Runs the heartbeat example on Kafka for a few seconds: sensors report to the topic
# sensors, alerts go to a table and from there to the topic sensorAlerts, both exactly
# once. Usage: demo-kafka.sh BINARY FOLDER, with TWS_KAFKA and TWS_KAFKA_SCRIPT as
# runtime/stream/kafka/broker/broker.sh run sets them.
set -euo pipefail

bin=$1
dir=$2
kafka() { "$TWS_KAFKA_SCRIPT" "$@"; }
rm -rf "$dir"
mkdir -p "$dir"
for topic in sensors sensorAlerts; do kafka topic --create --topic "$topic" --partitions 3; done > /dev/null

# The sensors: 3 and 5 report twice and fall silent, 1, 2 and 4 go on.
report() {
	local sensor
	for sensor in "$@"; do printf '{"sensor_id":%d,"sensor_type":"temperature","sensor_value":%d}\n' "$sensor" $((20 + sensor)); done
}
sensors() {
	local step
	for ((step = 0; step < 14; step++)); do
		if ((step < 2)); then report 1 2 3 4 5; else report 1 2 4; fi
		sleep 0.5
	done
}
echo "Sensors 1 to 5 report to the topic sensors; 3 and 5 fall silent after half a second."
sensors | kafka tool org.apache.kafka.tools.ConsoleProducer --bootstrap-server "$TWS_KAFKA" --topic sensors > /dev/null &
producer=$!

dir=${dir#"$PWD/"}
TWS_CLUSTERS_MAIN_BROKERS=$TWS_KAFKA "$bin" run --checkpoint "$dir/checkpoint" --tables "$dir/tables" \
	--trigger 250ms --conf source=kafka --conf patience=3s &
pid=$!
trap 'kill "$pid" "$producer" 2> /dev/null || true' EXIT
wait "$producer"
kill -TERM "$pid"
wait "$pid"
trap - EXIT

echo
echo "The topic sensorAlerts, as a consumer that reads committed messages sees it:"
kafka tool org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server "$TWS_KAFKA" --topic sensorAlerts \
	--from-beginning --isolation-level read_committed --formatter-property print.key=true --max-messages 2
