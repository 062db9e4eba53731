package app

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
)

const modulePath = "github.com/tws-go/tws"

func versionCommand() *command {
	return &command{
		name:     "version",
		short:    "print versions and what the build has",
		about:    "Prints the versions of the binary, of tws and of Go, and the state stores of this build.",
		examples: []example{{"version", "see what a bug report needs"}},
		run: func(_ context.Context, e *env, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = &debug.BuildInfo{}
			}
			return e.version(info)
		},
	}
}

func (e *env) version(info *debug.BuildInfo) error {
	var stores []string
	for _, s := range e.stores {
		stores = append(stores, s.name)
	}
	available := strings.Join(stores, ", ")
	if !e.hasRocks() {
		available += " (built without RocksDB)"
	}
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s\t%s\n", e.name, binaryVersion(info))
	fmt.Fprintf(out, "tws\t%s\n", moduleVersion(info))
	fmt.Fprintf(out, "go\t%s %s/%s\n", strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(out, "stores\t%s\n", available)
	return out.Flush()
}

// binaryVersion is the main module's version, with the commit it was built from
// if the version does not say it.
func binaryVersion(info *debug.BuildInfo) string {
	version := cmp.Or(info.Main.Version, "unknown")
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" && version == "(devel)" {
		version += " commit " + commit
		if settings["vcs.modified"] == "true" {
			version += " with changes"
		}
	}
	return strings.Join(nonEmpty(version, info.Path), " ")
}

// moduleVersion is the version of this module.
func moduleVersion(info *debug.BuildInfo) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil {
			return strings.Join(nonEmpty(m.Version, "replaced by", m.Replace.Path, m.Replace.Version), " ")
		}
		return cmp.Or(m.Version, "unknown")
	}
	return "unknown"
}
