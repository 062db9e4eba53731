package rocks

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       16000000 kB\nMemFree:         1000 kB\n"
	tests := map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known": {nil, defaultLimit},
		"machine":       {map[string]string{"proc/meminfo": meminfo}, 16000000 << 10},
		"no limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 16000000 << 10},
		"version 2 in a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30},
		"version 2, limit of a group around": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "536870912\n",
		}, 512 << 20},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "268435456\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
		}, 256 << 20},
		"machine smaller than the limit": {map[string]string{
			"proc/meminfo": "MemTotal: 1000 kB\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1000 << 10},
		"damaged": {map[string]string{
			"proc/meminfo": "MemTotal: many kB\n", "proc/self/cgroup": "nonsense\n", "sys/fs/cgroup/memory.max": "-5\n",
		}, defaultLimit},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for file, text := range test.files {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if got := memoryLimit(root); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestConfigMemory(t *testing.T) {
	t.Parallel()
	if got, want := (Config{}).memory(), max(minMemory, memoryLimit("/")/4); got != want {
		t.Errorf("default %d, want %d", got, want)
	}
	if got := (Config{MemoryBytes: 1}).memory(); got != minMemory {
		t.Errorf("a little: %d", got)
	}
	if got := (Config{MemoryBytes: 1 << 30}).memory(); got != 1<<30 {
		t.Errorf("as told: %d", got)
	}
}
