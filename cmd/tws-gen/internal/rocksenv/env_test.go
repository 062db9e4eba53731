package rocksenv

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// awkward has every character that shells and make treat specially.
func awkward() *Env {
	return &Env{
		CGOEnabled: true,
		CGOCFlags:  `'-I/a b/include' -DX="1" -O2`,
		CGOLDFlags: `-L/x '-Wl,-rpath,$ORIGIN' -Wl,-rpath,/it's#1/$(HOME)/` + "`id`" + `/\n`,
		GOFlags:    "-buildvcs=false -tags=a,grocksdb_no_link",
	}
}

func TestShellRoundTrip(t *testing.T) {
	t.Parallel()
	e := awkward()
	for _, line := range strings.Split(strings.TrimSuffix(e.Shell(), "\n"), "\n") {
		if !strings.HasPrefix(line, "export ") {
			t.Errorf("line %q is not an export", line)
		}
	}
	file := filepath.Join(t.TempDir(), "env.sh")
	write(t, file, e.Shell())
	for _, v := range e.Vars() {
		got := shell(t, `eval "$(cat '`+file+`')"; sh -c 'printf %s "$`+v.Name+`"'`)
		if got != v.Value {
			t.Errorf("%s is %q after eval, want %q", v.Name, got, v.Value)
		}
	}
}

func TestMakeRoundTrip(t *testing.T) {
	t.Parallel()
	e := awkward()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rocksdb.mk"), e.Make())
	write(t, filepath.Join(dir, "Makefile"), "include rocksdb.mk\nshow:\n\t@printf %s \"$$NAME\" | xargs -I{} sh -c 'printf %s \"$$'{}'\"'\n")
	for _, v := range e.Vars() {
		got := shell(t, "cd '"+dir+"' && NAME="+v.Name+" make -s show")
		if got != v.Value {
			t.Errorf("%s is %q under make, want %q", v.Name, got, v.Value)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	got := awkward().Environ()
	if len(got) != 4 || got[0] != "CGO_ENABLED=1" || !strings.HasPrefix(got[2], "CGO_LDFLAGS=-L/x ") {
		t.Errorf("got %q", got)
	}
}

func TestAddTag(t *testing.T) {
	t.Parallel()
	tests := []struct{ have, want string }{
		{"", "-tags=grocksdb_no_link"},
		{"-buildvcs=false", "-buildvcs=false -tags=grocksdb_no_link"},
		{"-tags=a,b -v", "-v -tags=a,b,grocksdb_no_link"},
		{"--tags=a", "-tags=a,grocksdb_no_link"},
		{"'-tags=a b'", "-tags=a,b,grocksdb_no_link"},
		{"-tags=a -tags=b", "-tags=b,grocksdb_no_link"},
		{"-tags=grocksdb_no_link", "-tags=grocksdb_no_link"},
		{"-tagsy=1", "-tagsy=1 -tags=grocksdb_no_link"},
	}
	for _, test := range tests {
		fields, err := splitFlags(test.have)
		if err != nil {
			t.Fatal(err)
		}
		got, err := joinFlags(addTag(fields))
		if err != nil || got != test.want {
			t.Errorf("%q: %q, %v, want %q", test.have, got, err, test.want)
		}
	}
}

func TestFlagsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, fields := range [][]string{
		nil,
		{"-a", "-b=c"},
		{"-I/a b", "x'y", `x"y`, "$ORIGIN", ""},
	} {
		s, err := joinFlags(fields)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := splitFlags(s); err != nil || !slices.Equal(got, fields) {
			t.Errorf("%q joined is %s, which splits into %q, %v", fields, s, got, err)
		}
	}
	if _, err := joinFlags([]string{`'"`}); err == nil {
		t.Error("a flag with both quotes was joined")
	}
	if _, err := splitFlags("-a 'b"); err == nil {
		t.Error("an unterminated quote was split")
	}
}

// An environment that Find made is a fixed point of Find.
func TestFindTwice(t *testing.T) {
	w := newWorld(t)
	w.maven(w.jar(realJarEntry, fakeLib))
	first := w.find()
	json := strings.NewReplacer("C", first.CGOCFlags, "L", first.CGOLDFlags, "G", first.GOFlags)
	reply := `{"GOFLAGS":"` + json.Replace("G") + `","CGO_CFLAGS":"` + json.Replace("C") + `","CGO_LDFLAGS":"` + json.Replace("L") + `"}`
	file := filepath.Join(t.TempDir(), "reply")
	if err := os.WriteFile(file, []byte(reply), 0o644); err != nil {
		t.Fatal(err)
	}
	w.program("go", `cat "`+file+`"`)
	if second := w.find(); *second != *first {
		t.Errorf("first  %+v\nsecond %+v", *first, *second)
	}
}
