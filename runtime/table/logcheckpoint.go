package table

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tws-go/tws/schemas"
)

// logCheckpoint is a picture of a table's log as of a version, which other writers
// leave beside the commits so that nobody need read those from the start.
type logCheckpoint struct {
	version int64
	// files are its Parquet files, in the order of its parts.
	files []string
}

// logListing is what the folder of a log holds.
type logListing struct {
	// oldest and newest are the versions that commits are there of, -1 if none.
	oldest, newest int64
	// checkpoint is the newest log checkpoint that is whole; ok is false if there
	// is none.
	checkpoint logCheckpoint
	ok         bool
}

// listFolder lists the log of the table in the folder dir; of a table that is not
// there it is empty.
func listFolder(dir string) (logListing, error) { return listUpTo(dir, math.MaxInt64) }

// findCheckpoint returns the log checkpoint of a version.
func findCheckpoint(dir string, version int64) (logCheckpoint, error) {
	l, err := listUpTo(dir, version)
	if err == nil && (!l.ok || l.checkpoint.version != version) {
		err = fmt.Errorf("the flow began with the log checkpoint of version %d and has not read all of it, and it is not in %s any more: restore it from a copy of the table, or begin anew with a fresh checkpoint",
			version, filepath.Join(dir, logFolder))
	}
	return l.checkpoint, err
}

// listUpTo is listFolder with the newest log checkpoint up to a version.
func listUpTo(dir string, version int64) (logListing, error) {
	l := logListing{oldest: -1, newest: -1}
	entries, err := os.ReadDir(filepath.Join(dir, logFolder))
	if os.IsNotExist(err) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("list the log: %w", err)
	}
	found := map[checkpointName][]string{}
	for _, e := range entries {
		if v, ok := parseCommitName(e.Name()); ok {
			if l.oldest < 0 {
				l.oldest = v // names are in order
			}
			l.newest = v
		} else if name, ok := parseCheckpointName(e.Name()); ok {
			found[name] = append(found[name], filepath.Join(dir, logFolder, e.Name()))
		}
	}
	for name, files := range found {
		if len(files) == name.parts && name.version <= version && (!l.ok || name.version > l.checkpoint.version) {
			l.checkpoint, l.ok = logCheckpoint{name.version, files}, true
		}
	}
	return l, nil
}

// checkpointName is what the files of one log checkpoint have in common.
type checkpointName struct {
	version int64
	parts   int
}

// parseCheckpointName reads the name of a file of a log checkpoint in the classic
// form: <version>.checkpoint.parquet, or <version>.checkpoint.<part>.<parts>.parquet.
// The newer form is a reader feature, and refused with the table.
func parseCheckpointName(name string) (checkpointName, bool) {
	fields := strings.Split(name, ".")
	if len(fields) != 3 && len(fields) != 5 || fields[1] != "checkpoint" || fields[len(fields)-1] != "parquet" {
		return checkpointName{}, false
	}
	version, ok := parseCommitName(fields[0] + ".json")
	if !ok || len(fields) == 3 {
		return checkpointName{version, 1}, ok
	}
	part, err := strconv.Atoi(fields[2])
	parts, err2 := strconv.Atoi(fields[3])
	ok = err == nil && err2 == nil && 1 <= part && part <= parts && parts > 1
	return checkpointName{version, parts}, ok
}

// read returns what the log checkpoint says, as a commit would say it.
func (c logCheckpoint) read(ctx context.Context) ([]action, error) {
	row, err := rowOf(checkpointColumns())
	if err != nil {
		return nil, err
	}
	var actions []action
	for _, path := range c.files {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read the log checkpoint: %w", err)
		}
		add := addAction{Path: filepath.Base(path), Size: info.Size()}
		err = readFile(ctx, filepath.Dir(path), add, row, func(text []byte) error {
			a, err := parseCheckpointRow(text)
			if err == nil && a != (action{}) {
				actions = append(actions, a)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the log checkpoint %s: %w", path, err)
		}
	}
	return actions, nil
}

// checkpointColumns are the columns of a log checkpoint that matter to a reader.
func checkpointColumns() []schemas.Field {
	scalar := func(k schemas.Kind) schemas.Type { return schemas.Type{Kind: k} }
	text, long, number := scalar(schemas.String), scalar(schemas.Int64), scalar(schemas.Int32)
	list := func(t schemas.Type) schemas.Type { return schemas.Type{Kind: schemas.List, Elem: &t} }
	type column = schemas.Field
	object := func(fields ...column) schemas.Type { return schemas.Type{Kind: schemas.Struct, Fields: fields} }
	entries := list(object(column{Name: "key", Type: text}, column{Name: "value", Type: text}))
	return []schemas.Field{
		{Name: "add", Type: object(
			column{Name: "path", Type: text}, column{Name: "size", Type: long}, column{Name: "modificationTime", Type: long},
			column{Name: "stats", Type: text}, column{Name: "tags", Type: entries},
			column{Name: "deletionVector", Type: object(column{Name: "storageType", Type: text})})},
		{Name: "metaData", Type: object(
			column{Name: "id", Type: text}, column{Name: "schemaString", Type: text},
			column{Name: "format", Type: object(column{Name: "provider", Type: text})},
			column{Name: "partitionColumns", Type: list(text)}, column{Name: "configuration", Type: entries})},
		{Name: "protocol", Type: object(
			column{Name: "minReaderVersion", Type: number}, column{Name: "minWriterVersion", Type: number},
			column{Name: "readerFeatures", Type: list(text)}, column{Name: "writerFeatures", Type: list(text)})},
	}
}

// mapEntries is a map as a log checkpoint has it.
type mapEntries []struct{ Key, Value string }

func (es mapEntries) toMap() map[string]string {
	return maps.Collect(func(yield func(string, string) bool) {
		for _, e := range es {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	})
}

// parseCheckpointRow reads one row of a log checkpoint, as JSON. A row that holds
// what a reader need not know is no action.
func parseCheckpointRow(text []byte) (action, error) {
	var row struct {
		Add *struct {
			addAction
			Tags           mapEntries      `json:"tags"`
			DeletionVector json.RawMessage `json:"deletionVector"`
		} `json:"add"`
		MetaData *struct {
			tableMeta
			Configuration mapEntries `json:"configuration"`
		} `json:"metaData"`
		Protocol *protocol `json:"protocol"`
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return action{}, err
	}
	a := action{Protocol: row.Protocol}
	if row.Add != nil {
		a.Add = &row.Add.addAction
		a.Add.Tags, a.Add.DeletionVector, a.Add.DataChange = row.Add.Tags.toMap(), row.Add.DeletionVector, true
	}
	if row.MetaData != nil {
		a.MetaData = &row.MetaData.tableMeta
		a.MetaData.Configuration = row.MetaData.Configuration.toMap()
	}
	return a, a.check()
}

// missingVersion says why a version that a stream needs is not in the log.
func (l logListing) missingVersion(dir string, version int64) error {
	switch {
	case l.newest < 0:
		return fmt.Errorf("the table in %s is gone, and the flow has read it up to version %d: put it back, or begin anew with a fresh checkpoint", dir, version)
	case version > l.newest:
		return fmt.Errorf("the flow goes on at version %d, and the newest version of the table in %s is %d: the table was set back or replaced; put it back as it was, or begin anew with a fresh checkpoint",
			version, dir, l.newest)
	case version < l.oldest:
		return fmt.Errorf("the flow goes on at version %d, and the oldest version in the log of %s is %d: what lies between was removed before it was read; restore those commits from a copy of the table, or begin anew with a fresh checkpoint",
			version, dir, l.oldest)
	}
	return fmt.Errorf("the log is damaged: %s is missing, and there is a version %d: restore the file from a copy of the table",
		commitPath(dir, version), l.newest)
}

// addsOf returns the files that actions add.
func addsOf(actions []action) []addAction {
	var files []addAction
	for _, a := range actions {
		if a.Add != nil {
			files = append(files, *a.Add)
		}
	}
	return slices.Clip(files)
}
