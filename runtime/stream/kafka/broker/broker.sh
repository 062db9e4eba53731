#!/usr/bin/env bash
# A real Kafka broker for tests and benchmarks: one node, on loopback, from Maven
# artifacts. `broker.sh --help` says how to use it; the files it writes are in
# functions named after them.
set -euo pipefail

usage() {
  cat <<'END'
A real Kafka broker on this machine, for tests and benchmarks.

usage: broker.sh COMMAND [ARGUMENT...]

  start            start it and wait until it answers; nothing if it runs already
  stop             stop it as an operator would: logs flushed, nothing to recover
  kill             end it at once (SIGKILL), as a crash would
  restart          stop, start
  pause, resume    freeze its process (SIGSTOP), let it go on: connections stay
                   open and nothing is answered
  wipe             stop it and delete its data, log and certificates
  status           say whether it runs and where; exit code 0 if it answers, 3 if not
  env              print what tests read from the environment, for: eval "$(broker.sh env)"
  run COMMAND...   start it empty, run a command with that environment, stop it
                   whatever happens; one that runs already is used and left running
  topic ARGS...    Kafka's topic tool, connected: topic --create --topic a --partitions 3
  tool CLASS ARGS  any of Kafka's tools: tool org.apache.kafka.tools.GetOffsetShell ...

Addresses, as `env` prints them; all on 127.0.0.1, in a row from TWS_KAFKA_PORT:

  TWS_KAFKA           PLAINTEXT: no TLS, no login; may do everything
  TWS_KAFKA_SSL       TLS; a client certificate is neither asked for nor needed
  TWS_KAFKA_MTLS      TLS; a client certificate of TWS_KAFKA_CERTS is required
  TWS_KAFKA_SASL      no TLS; login
  TWS_KAFKA_SASL_SSL  TLS and login
  TWS_KAFKA_CERTS     folder with ca.pem, client.pem, client.key
  TWS_KAFKA_SCRIPT    this script, by which a test can stop, kill and start the broker

Login is SASL PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 as alice (alice-secret) or bob
(bob-secret), or OAUTHBEARER with any unsigned token ({"alg":"none"}) that has sub,
iat and exp. Everybody may do everything to what has no ACL; a test that adds an ACL
for its own topic sees authorisation errors.

No topic is created by itself. Transactions may last 15 minutes, and one that is over
its timeout is aborted within a second. Compaction and retention look every second.

Settings, from the environment:

  TWS_KAFKA_PORT   first port (19092); the five above it are used too
  TWS_KAFKA_DATA   folder of data, log, certificates, pid (.tmp/kafka of the repository)
  TWS_KAFKA_HOME   folder of the jars (${XDG_CACHE_HOME:-~/.cache}/tws/kafka)
  TWS_KAFKA_HEAP   heap of the broker (512m)

Needs Linux, bash, Java 17 or newer, openssl, and once, to fetch 44 MB of jars, Maven (mvn).
END
}

version=4.4.0
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../../../.." && pwd)
port=${TWS_KAFKA_PORT:-19092}
data=${TWS_KAFKA_DATA:-$repo/.tmp/kafka}
home=${TWS_KAFKA_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/tws/kafka}
heap=${TWS_KAFKA_HEAP:-512m}
[[ $data == /* ]] || data=$PWD/$data
[[ $home == /* ]] || home=$PWD/$home

libs=$home/libs-$version
certs=$data/certs
log=$data/log
pidfile=$data/pid
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
# On the command line of a broker, it tells whether a pid is that of this folder.
mark=-Dtws.broker=$data

fail() {
  echo "broker: $*" >&2
  exit 1
}

[[ $port =~ ^[0-9]{1,5}$ ]] && ((10#$port >= 1 && 10#$port <= 65530)) ||
  fail "TWS_KAFKA_PORT is \"$port\": set it to a port from 1 to 65530"
plain=127.0.0.1:$port
controller=127.0.0.1:$((port + 1))
ssl=127.0.0.1:$((port + 2))
mtls=127.0.0.1:$((port + 3))
sasl=127.0.0.1:$((port + 4))
sasl_ssl=127.0.0.1:$((port + 5))

# needs checks what is asked for here and not by a stack trace later.
needs() {
  local found
  found=$("$java" -version 2>&1) ||
    fail "java is not installed (looked for $java): install a JDK, version 17 or newer, or set JAVA_HOME"
  [[ $found =~ version\ \"([0-9]+) ]] && ((BASH_REMATCH[1] >= 17)) ||
    fail "Kafka $version needs Java 17 or newer, and $java is: ${found%%$'\n'*}"
  command -v openssl >/dev/null ||
    fail "openssl is not installed: install it, it makes the certificates"
}

# jars fetches the broker, once; the folder appears when it is complete.
jars() {
  [ -d "$libs" ] && return
  command -v mvn >/dev/null ||
    fail "mvn is not installed, and Kafka $version is not in $home: install Maven, or copy the folder from a machine that has it"
  echo "broker: fetching Kafka $version with mvn (44 MB, once per user)" >&2
  mkdir -p "$home"
  local new
  new=$(mktemp -d "$home/new.XXXXXX")
  if ! mvn -q -B -f "$here/pom.xml" -Dkafka.version="$version" \
    dependency:copy-dependencies -DoutputDirectory="$new/libs" >"$new/mvn.log" 2>&1; then
    cat "$new/mvn.log" >&2
    rm -rf "$new"
    fail "mvn could not fetch Kafka $version; its messages are above"
  fi
  mv "$new/libs" "$libs"
  rm -rf "$new"
}

# tool runs one of Kafka's command-line tools in a small JVM.
tool() {
  "$java" -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
    -Dlog4j2.configurationFile="$data/log4j2.yaml" -cp "$libs/*" "$@"
}

# certificates makes an authority, and a server and a client certificate by it.
certificates() {
  [ -e "$certs/client.pem" ] && return
  local new=$certs.new key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
  rm -rf "$new" "$certs"
  mkdir -p "$new"
  (
    umask 077
    cd "$new" && exec 2>openssl.log &&
      openssl req -x509 "${key[@]}" -days 3650 -subj "/CN=tws test authority" -keyout ca.key -out ca.pem &&
      certificate server serverAuth "subjectAltName=IP:127.0.0.1,DNS:localhost" &&
      certificate client clientAuth "subjectAltName=DNS:client" &&
      cat server.key server.pem >server.both
  ) || fail "openssl could not make the certificates; see $new/openssl.log"
  mv "$new" "$certs"
}
certificate() { # NAME USE EXTENSION
  printf '%s\n' "$3" "extendedKeyUsage=$2" >"$1.ext" &&
    openssl req -new "${key[@]}" -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" &&
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile "$1.ext" -out "$1.pem"
}

log4j2_yaml() {
  cat <<'END'
Configuration:
  Appenders:
    Console: {name: out, PatternLayout: {pattern: "%d %p %m (%c)%n"}}
  Loggers:
    Root: {level: WARN, AppenderRef: [{ref: out}]}
    Logger: [{name: kafka.server.KafkaRaftServer, level: INFO}]
END
}

server_properties() {
  cat <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@$controller
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://$plain,CONTROLLER://$controller,SSL://$ssl,MTLS://$mtls,SASL_PLAINTEXT://$sasl,SASL_SSL://$sasl_ssl
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,MTLS:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
log.dirs=$data/logs
num.network.threads=2
num.io.threads=4

# One node holds everything.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0

# After a crash the controller takes the broker back when its session is over.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500

# What happens in minutes elsewhere happens while a test waits.
transaction.max.timeout.ms=900000
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
log.initial.task.delay.ms=500
log.retention.check.interval.ms=1000
log.segment.delete.delay.ms=1000
log.cleaner.backoff.ms=1000
log.cleaner.dedupe.buffer.size=16777216

authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true

ssl.keystore.type=PEM
ssl.keystore.location=$certs/server.both
ssl.truststore.type=PEM
ssl.truststore.location=$certs/ca.pem
listener.name.mtls.ssl.client.auth=required
END
  local listener modules=org.apache.kafka.common.security
  for listener in sasl_plaintext sasl_ssl; do
    cat <<END

listener.name.$listener.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.$listener.plain.sasl.jaas.config=$modules.plain.PlainLoginModule required user_alice="alice-secret" user_bob="bob-secret";
listener.name.$listener.scram-sha-256.sasl.jaas.config=$modules.scram.ScramLoginModule required;
listener.name.$listener.scram-sha-512.sasl.jaas.config=$modules.scram.ScramLoginModule required;
listener.name.$listener.oauthbearer.sasl.jaas.config=$modules.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
END
  done
}

# format makes the data folder of a new cluster, with the users of SCRAM.
format() {
  [ -e "$data/logs/meta.properties" ] && return
  rm -rf "$data/logs"
  local user mechanism users=()
  for user in alice bob; do
    for mechanism in SCRAM-SHA-256 SCRAM-SHA-512; do
      users+=(--add-scram "$mechanism=[name=$user,password=$user-secret]")
    done
  done
  tool kafka.tools.StorageTool format --cluster-id twsTestBrokerAAAAAAAAA \
    --config "$data/server.properties" "${users[@]}" >"$data/format.log" 2>&1 ||
    fail "the data folder could not be prepared: $(tail -3 "$data/format.log")"
}

# pid prints the broker's process if it lives. A pid that is left over and has
# become another program's does not have the mark, and so is never touched; nor has
# a process that has ended and whose parent does not ask.
pid() {
  local number
  number=$(cat "$pidfile" 2>/dev/null) && [[ $number =~ ^[0-9]+$ ]] || return 1
  [[ " $(ps -ww -o args= -p "$number" 2>/dev/null) " == *" $mark "* ]] && echo "$number"
}

opens() { # ADDRESS
  (exec 3<>"/dev/tcp/${1%:*}/${1#*:}") 2>/dev/null
}

# answers sends the first request of every client, ApiVersions, and wants the
# response to it: four bytes of length, then the request's number.
answers() {
  local got
  got=$(
    exec 2>/dev/null
    exec 3<>"/dev/tcp/${plain%:*}/${plain#*:}" || exit 1
    printf '\0\0\0\x0a\0\x12\0\0\x54\x57\x53\x21\xff\xff' >&3
    timeout 5 head -c 8 <&3 | tail -c 4
  ) && [ "$got" = 'TWS!' ]
}

# free checks the ports, whose owner the broker's own message would not name.
free() {
  local address
  for address in $plain $controller $ssl $mtls $sasl $sasl_ssl; do
    ! opens "$address" ||
      fail "port ${address#*:} is taken by another program: stop it, or set TWS_KAFKA_PORT to the first of six free ports"
  done
}

# locked keeps two starts at the same time apart, where there is flock.
locked() {
  mkdir -p "$data"
  exec 9>"$data/lock"
  if command -v flock >/dev/null; then
    flock -w 120 9 || fail "another broker.sh has been starting a broker in $data for two minutes"
  fi
}

start() {
  locked
  local running
  if running=$(pid); then
    answers || fail "the broker (pid $running) runs but does not answer; see $log, or: $0 resume, $0 kill"
    echo "broker: runs already on $plain (pid $running)" >&2
    return
  fi
  free
  needs
  jars
  log4j2_yaml >"$data/log4j2.yaml"
  certificates
  server_properties >"$data/server.properties"
  format
  launch
}

# launch starts the process and waits until Kafka says that all listeners are
# open, in the part of the log that this start writes, and answers.
launch() {
  touch "$log"
  local before deadline
  before=$(wc -c <"$log")
  nohup "$java" -Xms"$heap" -Xmx"$heap" -XX:+UseG1GC -XX:MaxGCPauseMillis=20 "$mark" \
    -Dlog4j2.configurationFile="$data/log4j2.yaml" -cp "$libs/*" kafka.Kafka "$data/server.properties" \
    >>"$log" 2>&1 </dev/null 9>&- &
  echo $! >"$pidfile"
  deadline=$((SECONDS + 90))
  until tail -c +$((before + 1)) "$log" | grep -q 'Kafka Server started' && answers; do
    if ! kill -0 $! 2>/dev/null; then
      tail -c +$((before + 1)) "$log" | grep -m 3 -E ' (ERROR|FATAL) |BindException|failed to bind' >&2 || true
      tail -5 "$log" >&2
      fail "the broker ended while it started; the lines above are the last of $log"
    fi
    ((SECONDS < deadline)) || fail "the broker does not answer after 90 s; see $log"
    sleep 0.1
  done
  echo "broker: Kafka $version on $plain (pid $!)" >&2
}

# end ends the process and waits until it is gone, and its ports too, which the
# kernel closes a little later.
end() { # SIGNAL
  local running deadline=$((SECONDS + 60))
  if ! running=$(pid); then
    rm -f "$pidfile"
    return
  fi
  kill -s "$1" "$running" 2>/dev/null || true
  kill -s CONT "$running" 2>/dev/null || true # a paused one cannot end
  while [ "$(pid)" = "$running" ]; do
    if ((SECONDS >= deadline)); then
      echo "broker: it did not stop within a minute; killed" >&2
      kill -s KILL "$running" 2>/dev/null || true
      deadline=$((SECONDS + 60))
    fi
    sleep 0.05
  done
  rm -f "$pidfile"
  local address
  deadline=$((SECONDS + 10))
  for address in $plain $controller $ssl $mtls $sasl $sasl_ssl; do
    while opens "$address" && ((SECONDS < deadline)); do sleep 0.05; done
  done
}

signal() { # SIGNAL
  local running
  running=$(pid) || fail "it does not run: $0 start"
  kill -s "$1" "$running"
}

# wipe deletes only what a start has made.
wipe() {
  end TERM
  rm -rf "$data/logs" "$certs" "$certs.new"
  rm -f "$log" "$pidfile" "$data"/{server.properties,log4j2.yaml,format.log,lock}
  [ ! -d "$data" ] || rmdir "$data" 2>/dev/null || echo "broker: $data holds other files and stays" >&2
}

status() {
  local running
  running=$(pid) || { echo "broker: does not run (data in $data)"; exit 3; }
  answers || { echo "broker: does not answer (pid $running, log $log)"; exit 3; }
  echo "broker: Kafka $version on $plain (pid $running, log $log)"
}

environment() {
  cat <<END
TWS_KAFKA=$plain
TWS_KAFKA_SSL=$ssl
TWS_KAFKA_MTLS=$mtls
TWS_KAFKA_SASL=$sasl
TWS_KAFKA_SASL_SSL=$sasl_ssl
TWS_KAFKA_CERTS=$certs
TWS_KAFKA_SCRIPT=$here/broker.sh
TWS_KAFKA_PORT=$port
TWS_KAFKA_DATA=$data
TWS_KAFKA_HOME=$home
TWS_KAFKA_HEAP=$heap
END
}

# each variable of environment, through a command: printing it, or setting it.
variables() { # COMMAND...
  local line
  while IFS= read -r line; do "$@" "$line"; done < <(environment)
}
print_export() { printf 'export %s=%q\n' "${1%%=*}" "${1#*=}"; }

run() {
  (($# > 0)) || fail "run what? usage: $0 run COMMAND..."
  if ! pid >/dev/null; then
    trap 'end TERM' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    wipe
  fi
  (start) # a shell of its own, so that the command does not inherit the lock
  variables export
  "$@"
}

command=${1:-}
(($# == 0)) || shift
case $command in
start | stop | kill | restart | pause | resume | wipe | status | env)
  (($# == 0)) || fail "$command takes no arguments, got: $*"
  ;;
topic | tool) pid >/dev/null || fail "it does not run: $0 start" ;;
esac
case $command in
start) start ;;
stop) end TERM ;;
kill) end KILL ;;
restart)
  end TERM
  start
  ;;
pause) signal STOP ;;
resume) signal CONT ;;
wipe) wipe ;;
status) status ;;
env) variables print_export ;;
run) run "$@" ;;
topic) tool org.apache.kafka.tools.TopicCommand --bootstrap-server "$plain" "$@" ;;
tool) tool "$@" ;;
help | -h | --help) usage ;;
"")
  usage >&2
  exit 2
  ;;
*)
  echo "broker: there is no command $command; $0 --help lists them" >&2
  exit 2
  ;;
esac
