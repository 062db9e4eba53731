package kafka

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// laggingOffsets lists no offset of partition 1 for a number of times.
func laggingOffsets(lag int) lister {
	return func(context.Context, ...string) (kadm.ListedOffsets, error) {
		all := map[int32]kadm.ListedOffset{0: {Offset: 5}}
		if lag--; lag < 0 {
			all[1] = kadm.ListedOffset{Offset: 7}
		}
		return kadm.ListedOffsets{"t": all}, nil
	}
}

// A partition that was just made is listed before the cluster names its offsets: a
// source waits for them and says so, and not for ever.
func TestOffsetsOfNewPartition(t *testing.T) {
	t.Parallel()
	var log logBuffer
	f := &feed{settings: &settings{cluster: "main"}, log: slog.New(slog.NewTextHandler(&log, nil))}
	got, err := f.askEach(t.Context(), laggingOffsets(2), "t", []int32{0, 1})
	if err != nil || !maps.Equal(got, map[int32]int64{0: 5, 1: 7}) {
		t.Errorf("%v, %v; want offsets 5 and 7", got, err)
	}
	if n := strings.Count(log.String(), "no offset of topic t, partition 1"); n != 2 {
		t.Errorf("told %d times that an offset is missing, want 2:\n%s", n, log.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.askEach(ctx, laggingOffsets(listTries), "t", []int32{0, 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the context was cancelled", err)
	}
}

// Offsets are asked for so often and no more, whatever keeps them from coming.
func TestOffsetsTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{settings: &settings{cluster: "main"}, log: slog.New(slog.DiscardHandler)}
		tries, missing := 0, laggingOffsets(100)
		_, err := f.askEach(t.Context(), func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			if tries++; tries%2 == 1 {
				return nil, kerr.LeaderNotAvailable
			}
			return missing(ctx, topics...)
		}, "t", []int32{0, 1})
		wantError(t, err, "no offset of topic t, partition 1")
		if tries != listTries {
			t.Errorf("asked %d times, want %d", tries, listTries)
		}
	})
}
