package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/tws-go/tws/runtime/stream"
)

// variablePrefix is what the names of our variables begin with.
const variablePrefix = "TWS_CLUSTERS_"

// variable is a variable that is a setting of a cluster, as one reading of its
// name has it.
type variable struct {
	name    string
	cluster string // as it stands in the name
	key     stream.Key
}

// upper is how a cluster or a key is written in a variable's name.
func upper(name string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// Variable is the name of the variable that is a setting of a cluster.
func Variable(cluster, key string) string {
	return variablePrefix + upper(cluster) + "_" + upper(key)
}

// readings returns the ways to read a variable's name. There are several if what
// one key ends in is a key itself.
func readings(name string) []variable {
	rest := strings.TrimPrefix(name, variablePrefix)
	var all []variable
	for _, key := range stream.Keys() {
		if cluster, ok := strings.CutSuffix(rest, "_"+upper(key.Name)); ok && clusterName.MatchString(cluster) {
			all = append(all, variable{name, cluster, key})
		}
	}
	return all
}

// readEnvironment takes the settings of our variables. A cluster that the file
// does not have begins with its brokers, which tells apart MAIN_SASL with a
// client_id and MAIN with a sasl.client_id.
func (l *loader) readEnvironment() {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(l.variables)) {
		if strings.HasPrefix(name, variablePrefix) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		for _, v := range readings(name) {
			if v.key.Name == "brokers" && len(l.called(v.cluster)) == 0 {
				l.add(strings.ToLower(v.cluster), name)
			}
		}
	}
	for _, name := range names {
		l.readVariable(name)
	}
}

// called returns the clusters that are written so in variables.
func (l *loader) called(cluster string) []string {
	var found []string
	for _, known := range l.names() {
		if upper(known) == cluster {
			found = append(found, known)
		}
	}
	return found
}

func (l *loader) readVariable(name string) {
	type target struct {
		cluster string
		key     stream.Key
	}
	var targets []target
	var told []string
	for _, v := range readings(name) {
		for _, cluster := range l.called(v.cluster) {
			targets = append(targets, target{cluster, v.key})
			told = append(told, "clusters."+cluster+"."+v.key.Name)
		}
	}
	switch {
	case len(targets) == 0:
		l.nobodys(name)
	case len(targets) > 1:
		l.fail(name, "", "this variable can mean %s: rename a cluster, or write the value into the configuration file", strings.Join(told, " or "))
	case strings.TrimSpace(l.variables[name]) == "":
		l.fail(name, "", "this variable is empty: unset it, or give it a value")
	default:
		l.set(targets[0].cluster, targets[0].key, l.variables[name], name)
	}
}

// nobodys reports a variable that is of no cluster, or no key.
func (l *loader) nobodys(name string) {
	rest := strings.TrimPrefix(name, variablePrefix)
	for _, cluster := range l.names() {
		if key, ok := strings.CutPrefix(rest, upper(cluster)+"_"); ok {
			l.fail(name, "", "%s (in a variable's name in capitals, with _ for each dot)", stream.UnknownKey(strings.ToLower(key)))
			return
		}
	}
	known := "there is none"
	if names := l.names(); len(names) > 0 {
		known = "there are " + strings.Join(names, ", ")
	}
	l.fail(name, "", "this variable is of no cluster (%s): write the cluster into the configuration file, or set its brokers with %sNAME_BROKERS", known, variablePrefix)
}
