package app

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		Path: "example.com/pipe/cmd/pipe", Main: debug.Module{Path: "example.com/pipe", Version: "(devel)"},
		Deps: []*debug.Module{{Path: "golang.org/x/term", Version: "v0.1.0"}, {Path: modulePath, Version: "v0.2.0"}},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	l := newLine(t)
	if err := l.env.version(info); err != nil {
		t.Fatal(err)
	}
	want := "pipe    (devel) commit abc with changes example.com/pipe/cmd/pipe\n" +
		"tws     v0.2.0\n" +
		"go      " + strings.TrimPrefix(runtime.Version(), "go") + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n" +
		"stores  mem (built without RocksDB)\n"
	if got := l.out.String(); got != want {
		t.Errorf("version prints\n%s\nwant\n%s", got, want)
	}
}

func TestModuleVersion(t *testing.T) {
	t.Parallel()
	for want, info := range map[string]*debug.BuildInfo{
		"unknown": {},
		"v1.2.3":  {Main: debug.Module{Path: modulePath, Version: "v1.2.3"}},
		"v1.2.3 replaced by ../tws": {Deps: []*debug.Module{
			{Path: modulePath, Version: "v1.2.3", Replace: &debug.Module{Path: "../tws"}},
		}},
	} {
		if got := moduleVersion(info); got != want {
			t.Errorf("moduleVersion is %q, want %q", got, want)
		}
	}
}

func TestVersionCommand(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	l.do(nil, exitDone, "version")
	if got := l.out.String(); !strings.HasPrefix(got, "pipe ") || !strings.Contains(got, "\nstores  mem") {
		t.Errorf("stdout: %s", got)
	}
}
