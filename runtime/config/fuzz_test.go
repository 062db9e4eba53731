package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a file and a variable look like, nothing panics, and what stands
// between marks, as a secret in a wrong place might, is in no error.
func FuzzLoad(f *testing.F) {
	const secret = "hunter2hunter2"
	for _, s := range []string{
		"clusters:\n  main:\n    sasl:\n      password: %\n", "clusters: {main: {sasl: {password:%}}}", "clusters: {main: {sasl: {PLAIN, %}}}",
		"clusters: {main: {sasl: {password: *%}}}", "clusters: {main: {sasl: {password: &%}}}", "clusters: {main: {sasl: {password: !%}}}",
		"clusters: {main: {sasl: %}}", "clusters: {main: {sasl: {password: [%]}}}", "clusters: {main: {sasl: {password: {%}}}}",
		"clusters:\n  main:\n    sasl:\n      password:%\n", "clusters:\n  main:\n    sasl:\n      password: %\n     x: y\n",
		"clusters:\n  main:\n    sasl:\n      password: '%\n", "clusters:\n  main:\n    sasl:\n      password: `%\n", "%", "*%", "{%", "? %\n: x",
		"a: &a [*a, %]", "clusters: &a {main: *a}", "clusters: {main: {sasl: {password: !!binary %}}}", "clusters: {main: {client_id: \"${%\"}}",
	} {
		f.Add(s, "MAIN_SASL_PASSWORD", "%")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content, variable, value string) {
		put := strings.NewReplacer("%", secret).Replace
		file, err := os.CreateTemp(dir, "*.yaml")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.WriteString(put(content)); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		c, err := Load(filepath.Clean(file.Name()), []string{variablePrefix + variable + "=" + put(value)})
		if err == nil {
			for name, s := range c.Clusters {
				for key := range s {
					if c.Where(name, key) == "" {
						t.Errorf("%s of %s is from nowhere", key, name)
					}
				}
			}
			return
		}
		// A name in the place of a key with a value is shown, as it must be.
		if named := strings.Contains(content, "%:") || strings.Contains(content, "% :") || strings.Contains(content, "? ") || strings.Contains(content, "${"); !named && strings.Contains(err.Error(), secret) {
			t.Errorf("a value is in the error: %v", err)
		}
	})
}
