package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tws-go/tws/runtime/stream"
)

// The path of all clusters.
const clustersKey = "clusters"

var (
	clusterName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	// plainName is what a key may look like for an error to show it. Anything
	// else may be a value, as in {password:secret} without a space.
	plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)
	yamlLine  = regexp.MustCompile(`line (\d+): `)
	// fromZero are errors whose lines the YAML parser counts from 0.
	fromZero = regexp.MustCompile(`did not find expected (',' or|key|'-'|node|<)`)
)

// readYAML reads the file's content. It looks at nodes rather than decode them:
// nodes have lines, and errors of decoding have values.
func (l *loader) readYAML(content []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return // nothing but comments
	case err != nil:
		l.syntax(err)
		return
	}
	switch err := decoder.Decode(&yaml.Node{}); {
	case err == nil:
		l.fail(l.file, "", "want one document, got several: remove the lines with ---")
		return
	case !errors.Is(err, io.EOF):
		l.syntax(err)
		return
	}
	root := document.Content[0]
	if isNull(root) {
		return
	}
	for _, e := range l.entries(root, "") {
		switch {
		case e.name == clustersKey && isNull(e.value):
		case e.name == clustersKey:
			l.readClusters(e.value)
		default:
			l.fail(l.at(e.key), "", "there is no key %s; the keys are %s", shown(e), clustersKey)
		}
	}
}

// syntax reports what the YAML parser says. It quotes the content in one error
// only.
func (l *loader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.Contains(text, "anchor") {
		l.fail(l.file, "", "%s", noAnchors)
		return
	}
	at := l.file
	if found := yamlLine.FindStringSubmatch(text); found != nil {
		line, _ := strconv.Atoi(found[1]) // as it matched
		if fromZero.MatchString(text) {
			line++
		}
		at += ":" + strconv.Itoa(line)
		text = strings.Replace(text, found[0], "", 1)
	}
	l.fail(at, "", "no YAML: %s", text)
}

const noAnchors = "a value that begins with *, & or ! must be in quotes; aliases, anchors and tags are not supported"

func (l *loader) at(n *yaml.Node) string { return l.file + ":" + strconv.Itoa(n.Line) }

// entry is a key of a mapping and its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// shown is a key's name for an error.
func shown(e entry) string {
	if !plainName.MatchString(e.name) || isNull(e.value) {
		return "like the one on this line"
	}
	return e.name
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// entries returns the entries of a mapping, those that are there twice only once.
func (l *loader) entries(n *yaml.Node, path string) []entry {
	if !l.plain(n, path) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		l.fail(l.at(n), path, "want keys with values, each on a line of its own: name: value")
		return nil
	}
	first := map[string]int{}
	var all []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := entry{n.Content[i].Value, n.Content[i], n.Content[i+1]}
		switch {
		case !l.plain(e.key, path) || !l.plain(e.value, path):
		case e.key.Kind != yaml.ScalarNode:
			l.fail(l.at(e.key), path, "want a name as key")
		case first[e.name] > 0:
			l.fail(l.at(e.key), path, "a key is there twice, first on line %d: %s", first[e.name], shown(e))
		default:
			first[e.name] = e.key.Line
			all = append(all, e)
		}
	}
	return all
}

// plain refuses what makes a node more than it looks like.
func (l *loader) plain(n *yaml.Node, path string) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || n.Tag == "!!merge" {
		l.fail(l.at(n), path, "%s", noAnchors)
		return false
	}
	return true
}

func (l *loader) readClusters(n *yaml.Node) {
	for _, e := range l.entries(n, clustersKey) {
		if !clusterName.MatchString(e.name) {
			l.fail(l.at(e.key), clustersKey, "a cluster's name consists of letters, digits, - and _")
			continue
		}
		l.add(e.name, l.at(e.key))
		l.readCluster(e.name, "", clustersKey+"."+e.name, e.value)
	}
}

// readCluster reads the settings of a cluster, or with a prefix, "sasl.", those of
// a group.
func (l *loader) readCluster(cluster, prefix, path string, n *yaml.Node) {
	for _, e := range l.entries(n, path) {
		name := prefix + e.name
		key, known := find(name)
		full := clustersKey + "." + cluster + "." + name
		switch {
		case known && l.settings[cluster][name] != "": // as a.b and as b below a
			l.fail(l.at(e.key), full, "is there twice, first at %s", l.places[place{cluster, name}])
		case known:
			l.readSetting(cluster, key, full, e)
		case prefix == "" && isGroup(name):
			l.readCluster(cluster, name+".", full, e.value)
		case !plainName.MatchString(e.name) || isNull(e.value):
			l.fail(l.at(e.key), path, "there is no key %s", shown(e))
		default:
			l.fail(l.at(e.key), path, "%s", stream.UnknownKey(name))
		}
	}
}

// readSetting reads a value: text, or a list where the key takes one.
func (l *loader) readSetting(cluster string, key stream.Key, path string, e entry) {
	nodes := []*yaml.Node{e.value}
	switch {
	case e.value.Kind == yaml.SequenceNode && key.Kind == stream.KeyList:
		nodes = e.value.Content
	case e.value.Kind == yaml.SequenceNode:
		l.fail(l.at(e.value), path, "want one value, got a list")
		return
	case e.value.Kind == yaml.MappingNode:
		l.fail(l.at(e.value), path, "want a value, got keys below it")
		return
	}
	var values []string
	for _, n := range nodes {
		if !l.plain(n, path) {
			return
		}
		if n.Kind != yaml.ScalarNode {
			l.fail(l.at(n), path, "want text as item of the list")
			return
		}
		value, err := l.expand(n.Value)
		if err != nil {
			l.fail(l.at(n), path, "%w", err)
			return
		}
		if isNull(n) || strings.TrimSpace(value) == "" {
			l.fail(l.at(n), path, "has no value")
			return
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		l.fail(l.at(e.value), path, "the list is empty")
		return
	}
	l.set(cluster, key, strings.Join(values, ","), l.at(e.key))
}

var reference = regexp.MustCompile(`\$?\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?`)

// expand puts variables of the environment in for ${NAME}. $${ stands for ${, and
// any other $ for itself. What was put in is not looked at again.
func (l *loader) expand(text string) (string, error) {
	var err error
	out := reference.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		name := strings.TrimSuffix(strings.TrimPrefix(match, "${"), "}")
		value, ok := l.variables[name]
		switch {
		case name == "":
			err = errors.New("want ${NAME}, with the name of a variable; write $${ for the characters ${ themselves")
		case !ok:
			err = fmt.Errorf("the environment has no variable %s", name)
		case value == "":
			err = fmt.Errorf("the variable %s of the environment is empty", name)
		}
		return value
	})
	return out, err
}
