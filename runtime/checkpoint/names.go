package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Numbers in names are padded with zeros, so that names sort as numbers do.
const (
	epochDigits   = 20
	attemptDigits = 4
	metaDigits    = 4
)

func epochName(epoch int64) string { return fmt.Sprintf("%0*d", epochDigits, epoch) }

func attemptName(epoch int64, attempt int) string {
	return fmt.Sprintf("%s-%0*d", epochName(epoch), attemptDigits, attempt)
}

func metaName(version int) string { return fmt.Sprintf("%0*d", metaDigits, version) }

func changelogPath(epoch int64, attempt, partition int) string {
	return filepath.Join("changelogs", strconv.Itoa(partition), attemptName(epoch, attempt))
}

// parseNumber reads a positive number of at least the given digits. Only the
// form that the functions above write is one.
func parseNumber(s string, digits int) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || fmt.Sprintf("%0*d", digits, n) != s {
		return 0, false
	}
	return n, true
}

func parseEpoch(name string) (int64, bool) { return parseNumber(name, epochDigits) }

func parseAttempt(name string) (epoch int64, attempt int, ok bool) {
	left, right, _ := strings.Cut(name, "-")
	epoch, ok1 := parseEpoch(left)
	n, ok2 := parseNumber(right, attemptDigits)
	return epoch, int(n), ok1 && ok2 && n <= math.MaxInt32
}

// parsePartition reads the name of a partition's directory.
func parsePartition(name string) bool {
	n, err := strconv.Atoi(name)
	return err == nil && n >= 0 && strconv.Itoa(n) == name
}

// listNames returns the names in dir, sorted; none if there is no dir.
func listNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: list files: %w", err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}
