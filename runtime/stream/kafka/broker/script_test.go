package broker

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// script runs broker.sh on a data folder and a cache of the test's own, with
// variables added, and returns what it prints and its exit code.
func script(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "./broker.sh", args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestEnv: what the script prints is what FromEnv reads.
func TestEnv(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a folder")
	out, code := script(t, []string{"TWS_KAFKA_PORT=23000", "TWS_KAFKA_DATA=" + folder}, "env")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	shell, err := exec.CommandContext(t.Context(), "env", "-i", "bash", "-euc", out+"\nenv").Output()
	if err != nil {
		t.Fatalf("bash does not understand\n%s: %v", out, err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(shell)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		values[name] = value
	}
	b, err := FromEnv(func(name string) string { return values[name] })
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	want := Broker{
		Plain: "127.0.0.1:23000", SSL: "127.0.0.1:23002", MTLS: "127.0.0.1:23003", SASL: "127.0.0.1:23004", SASLSSL: "127.0.0.1:23005",
		Certs: filepath.Join(folder, "certs"), script: filepath.Join(here, "broker.sh"),
	}
	if *b != want {
		t.Errorf("got %+v, want %+v", *b, want)
	}
}

func TestFromEnvMissing(t *testing.T) {
	t.Parallel()
	_, err := FromEnv(func(name string) string { return strings.TrimPrefix(name, "TWS_KAFKA_SASL") })
	const want = "broker: TWS_KAFKA_SASL not set: run make test-kafka, or set what broker.sh env prints"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestStalePid: a pid that was left over and is now another program's is not
// killed, not reported as the broker, and forgotten.
func TestStalePid(t *testing.T) {
	t.Parallel()
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	t.Cleanup(func() {
		other.Process.Kill() // by now it may have ended
		<-ended
	})
	folder := t.TempDir()
	pidFile := filepath.Join(folder, "pid")
	env := []string{"TWS_KAFKA_DATA=" + folder}
	for _, command := range []string{"status", "pause", "stop", "kill", "wipe"} {
		if err := os.WriteFile(pidFile, []byte(strconv.Itoa(other.Process.Pid)), 0o666); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"status": 3, "pause": 1}[command]
		if out, code := script(t, env, command); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", command, code, want, out)
		}
		if err := other.Process.Signal(syscall.Signal(0)); err != nil {
			t.Fatalf("%s has killed another program: %v", command, err)
		}
		if _, err := os.Stat(pidFile); want == 0 && err == nil {
			t.Errorf("%s has left the pid file", command)
		}
	}
}

// TestWipeKeepsOthers: wipe deletes what a start makes and nothing else.
func TestWipeKeepsOthers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"mine", "log", "server.properties", "logs/meta.properties", "certs/ca.pem"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := script(t, []string{"TWS_KAFKA_DATA=" + folder}, "wipe"); code != 0 || !strings.Contains(out, "holds other files and stays") {
		t.Errorf("exit code %d: %s", code, out)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || filepath.Base(left[0]) != "mine" {
		t.Errorf("left: %q, want only mine", left)
	}
}

// TestRefuses: what is missing is said before anything is started. It is not
// parallel while it writes programs: a process that another test starts in that
// moment would hold them open, and a file open for writing cannot be executed.
func TestRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	_, takenPort, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	java := func(version string) string { return fakeJava(t, version) }
	for _, c := range []struct {
		name string
		args []string
		env  []string
		want string
		code int
	}{
		{"no command", nil, nil, "usage: broker.sh COMMAND", 2},
		{"unknown command", []string{"begin"}, nil, "there is no command begin", 2},
		{"argument", []string{"start", "now"}, nil, "start takes no arguments, got: now", 1},
		{"run nothing", []string{"run"}, nil, "run what?", 1},
		{"topic without broker", []string{"topic", "--list"}, nil, "it does not run", 1},
		{"port", []string{"env"}, []string{"TWS_KAFKA_PORT=kafka"}, `TWS_KAFKA_PORT is "kafka": set it to a port`, 1},
		{"last port", []string{"env"}, []string{"TWS_KAFKA_PORT=65531"}, "set it to a port from 1 to 65530", 1},
		{"taken", []string{"start"}, []string{"TWS_KAFKA_PORT=" + takenPort}, "port " + takenPort + " is taken by another program", 1},
		{"no java", []string{"start"}, []string{"JAVA_HOME=/nowhere"}, "java is not installed (looked for /nowhere/bin/java): install a JDK", 1},
		{"old java", []string{"start"}, []string{"JAVA_HOME=" + java("11.0.2")}, `needs Java 17 or newer, and `, 1},
		{"no openssl", []string{"start"}, []string{"JAVA_HOME=" + java("17.0.1"), "PATH=" + tools(t)}, "openssl is not installed", 1},
		{"no mvn", []string{"start"}, []string{"JAVA_HOME=" + java("21"), "PATH=" + tools(t, "openssl")}, "mvn is not installed, and Kafka", 1},
		{"mvn fails", []string{"start"}, []string{"JAVA_HOME=" + java("21"), "PATH=" + tools(t, "openssl", "mvn")}, "no such host\nbroker: mvn could not fetch Kafka", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			env := append([]string{
				"TWS_KAFKA_PORT=" + strconv.Itoa(freePorts(t)), "TWS_KAFKA_DATA=" + folder + "/data", "TWS_KAFKA_HOME=" + folder + "/home",
			}, c.env...)
			out, code := script(t, env, c.args...)
			if code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, want %d; printed\n%s\nwant %q in it", code, c.code, out, c.want)
			}
			if left, err := filepath.Glob(folder + "/home/*"); err != nil || left != nil {
				t.Errorf("left in the cache: %q, %v", left, err)
			}
		})
	}
}

// freePorts returns a port that is free together with the five above it, as far as
// can be known. It lies below those that systems give to whoever asks for any, of
// which connections of other tests may use thousands.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 15000 + rand.IntN(15000)
		all := true
		for next := port; all && next <= port+5; next++ {
			l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(next))
			if all = err == nil; all {
				defer l.Close()
			}
		}
		if all {
			return port
		}
	}
	t.Fatal("no six free ports in a row")
	return 0
}

func fakeJava(t *testing.T, version string) (home string) {
	t.Helper()
	home = t.TempDir()
	program(t, filepath.Join(home, "bin", "java"), `echo 'openjdk version "`+version+`" 2030-01-01' >&2`)
	return home
}

// tools returns a folder for PATH with what the script needs in any case, and
// programs that fail.
func tools(t *testing.T, failing ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, name := range []string{"bash", "cat", "dirname", "flock", "mkdir", "mktemp", "ps", "rm"} {
		from, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range failing {
		program(t, filepath.Join(folder, name), "echo no such host; exit 1")
	}
	return folder
}

func program(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
}
