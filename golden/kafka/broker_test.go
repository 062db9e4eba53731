//go:build kafka_broker

package kafka_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// broker is the real one.
func broker(t *testing.T) *cluster {
	t.Helper()
	address := os.Getenv("TWS_KAFKA")
	if address == "" {
		t.Fatal("TWS_KAFKA, the address of a broker, is not set: run make test-kafka")
	}
	return newCluster(t, address, fmt.Sprintf("golden-%d-%s", time.Now().UnixMicro(), t.Name()))
}

// TestCrashAtEveryPoint against a broker. B-37, B-71, B-86
func TestBrokerCrashAtEveryPoint(t *testing.T) {
	broker(t).crashAtEveryPoint(t)
}

// TestJournalGone against a broker.
func TestBrokerJournalGone(t *testing.T) {
	broker(t).journalGone(t)
}

// TestChoiceCut against a broker.
func TestBrokerChoiceCut(t *testing.T) {
	broker(t).choiceCut(t)
}

// TestCrashAgain against a broker. B-37
func TestBrokerCrashAgain(t *testing.T) {
	broker(t).crashAgain(t)
}

// TestIsolation against a broker. B-74
func TestBrokerIsolation(t *testing.T) {
	broker(t).isolation(t)
}
