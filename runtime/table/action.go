package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// action is one line of the log. Exactly one field is set; a line of another
// writer may have none, when it holds an action that changes nothing for us.
type action struct {
	CommitInfo *commitInfo   `json:"commitInfo,omitempty"`
	Protocol   *protocol     `json:"protocol,omitempty"`
	MetaData   *tableMeta    `json:"metaData,omitempty"`
	Txn        *txnAction    `json:"txn,omitempty"`
	Add        *addAction    `json:"add,omitempty"`
	Remove     *removeAction `json:"remove,omitempty"`
}

// protocol says what a reader and a writer of the table must be able to do.
type protocol struct {
	MinReaderVersion int      `json:"minReaderVersion"`
	MinWriterVersion int      `json:"minWriterVersion"`
	ReaderFeatures   []string `json:"readerFeatures,omitempty"`
	WriterFeatures   []string `json:"writerFeatures,omitempty"`
}

// tableMeta describes the table.
type tableMeta struct {
	ID               string            `json:"id"`
	Name             string            `json:"name,omitempty"`
	Description      string            `json:"description,omitempty"`
	Format           fileFormat        `json:"format"`
	SchemaString     string            `json:"schemaString"`
	PartitionColumns []string          `json:"partitionColumns"`
	Configuration    map[string]string `json:"configuration"`
	CreatedTime      int64             `json:"createdTime,omitempty"`
}

// fileFormat is the format of the data files.
type fileFormat struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
}

// txnAction says how far an application has come: for a commit unit, the epoch
// that it published last.
type txnAction struct {
	AppID       string `json:"appId"`
	Version     int64  `json:"version"`
	LastUpdated int64  `json:"lastUpdated,omitempty"`
}

type addAction struct {
	Path             string            `json:"path"`
	PartitionValues  map[string]string `json:"partitionValues"`
	Size             int64             `json:"size"`
	ModificationTime int64             `json:"modificationTime"`
	DataChange       bool              `json:"dataChange"`
	Stats            string            `json:"stats,omitempty"`
	DeletionVector   json.RawMessage   `json:"deletionVector,omitempty"`
	Tags             map[string]string `json:"tags,omitempty"`
}

// sumTag is the tag of an add action that holds the file's checksum, in the form
// of an artefact's Sum.
const sumTag = "tws.sum"

// removeAction takes a file out of the table. Without a data change, the same rows
// stand in another file.
type removeAction struct {
	Path       string `json:"path"`
	DataChange bool   `json:"dataChange"`
}

// engine is the name under which this package appears in the log.
const engine = "tws"

// commitInfo says where a commit comes from. Publications is what ties a commit
// to decisions: readers of the table need none of it.
type commitInfo struct {
	Timestamp           int64             `json:"timestamp"`
	Operation           string            `json:"operation"`
	OperationParameters map[string]string `json:"operationParameters"`
	EngineInfo          string            `json:"engineInfo"`
	IsBlindAppend       bool              `json:"isBlindAppend"`
	Publications        []published       `json:"tws,omitempty"`
}

// published names the decision behind a txn action of the same commit.
type published struct {
	AppID    string `json:"appId"`
	Epoch    int64  `json:"epoch"`
	Attempt  int    `json:"attempt"`
	Manifest string `json:"manifest"`
}

// encodeActions returns the content of a commit file.
func encodeActions(actions []action) ([]byte, error) {
	var b bytes.Buffer
	for _, a := range actions {
		line, err := marshal(a)
		if err != nil {
			return nil, fmt.Errorf("encode log action: %w", err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// decodeActions reads the content of a commit file.
func decodeActions(data []byte) ([]action, error) {
	var actions []action
	line := 0
	for rest := data; len(rest) > 0; {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte("\n"))
		line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		a, err := decodeAction(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		actions = append(actions, a)
	}
	if len(actions) == 0 {
		return nil, errors.New("the file holds no actions")
	}
	return actions, nil
}

// decodeAction reads one line. A commitInfo is free text but for our own, so
// one of another writer is not held to any form.
func decodeAction(text []byte) (action, error) {
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(text, &outer); err != nil {
		return action{}, err
	}
	if len(outer) != 1 {
		return action{}, fmt.Errorf("a line must hold one action, and this holds %d", len(outer))
	}
	var a action
	var err error
	for name, body := range outer {
		switch name {
		case "commitInfo":
			a.CommitInfo = decodeCommitInfo(body)
		case "protocol":
			err = into(body, &a.Protocol)
		case "metaData":
			err = into(body, &a.MetaData)
		case "txn":
			err = into(body, &a.Txn)
		case "add":
			a.Add = &addAction{DataChange: true} // unless it says otherwise
			err = into(body, &a.Add)
		case "remove":
			a.Remove = &removeAction{DataChange: true}
			err = into(body, &a.Remove)
		}
		if err != nil {
			return action{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return a, a.check()
}

// into decodes an action's body, which must be an object.
func into[T any](body json.RawMessage, to **T) error {
	if err := json.Unmarshal(body, to); err != nil {
		return err
	}
	if *to == nil {
		return errors.New("the action is null")
	}
	return nil
}

func decodeCommitInfo(body json.RawMessage) *commitInfo {
	var who struct {
		EngineInfo string `json:"engineInfo"`
	}
	var info commitInfo
	if json.Unmarshal(body, &who) != nil || who.EngineInfo != engine || json.Unmarshal(body, &info) != nil {
		return &commitInfo{}
	}
	return &info
}

// check refuses actions that lack what the log cannot be replayed without.
func (a action) check() error {
	switch {
	case a.Add != nil && a.Add.Path == "":
		return errors.New("add: the path is missing")
	case a.Remove != nil && a.Remove.Path == "":
		return errors.New("remove: the path is missing")
	case a.Txn != nil && a.Txn.AppID == "":
		return errors.New("txn: the appId is missing")
	case a.MetaData != nil && a.MetaData.SchemaString == "":
		return errors.New("metaData: the schemaString is missing")
	case a.Protocol != nil && (a.Protocol.MinReaderVersion < 1 || a.Protocol.MinWriterVersion < 1):
		return errors.New("protocol: the versions are missing")
	}
	return nil
}

// localPath returns the path of a data file relative to the table's folder. The
// log holds it as a URI.
func localPath(uri string) (string, error) {
	path, err := url.PathUnescape(uri)
	if err != nil {
		return "", fmt.Errorf("path %q is not a URI: %w", uri, err)
	}
	if strings.HasPrefix(path, "/") || strings.Contains(uri, "://") || strings.HasPrefix(uri, "file:") {
		return "", fmt.Errorf("data file %s is outside of the table's folder, which is not supported", uri)
	}
	for _, part := range strings.Split(path, "/") {
		if part == ".." {
			return "", fmt.Errorf("data file %s is outside of the table's folder, which is not supported", uri)
		}
	}
	return path, nil
}
