package rocksenv

import "path/filepath"

// platform is what the release archive holds for an operating system and
// architecture.
type platform struct {
	name   string // os-arch[-musl], part of the cache directory's name
	entry  string // the library's name in the archive, "" if there is none
	sha256 string // of that entry
	lib    string // the file name a linker looks for
	origin string // what the run-time linker replaces by the binary's directory
}

// entries are the libraries in rocksdbjni-11.1.2.jar with their SHA-256, by the
// name of the platform.
func entries() map[string][2]string {
	return map[string][2]string{
		"linux-amd64":        {"librocksdbjni-linux64.so", "677f59bfa16175a2d0a165b2e9dbee6e64d242ac3747b25e10c94033d5f37e06"},
		"linux-amd64-musl":   {"librocksdbjni-linux64-musl.so", "c035e5aacba887aa63ec658a1dbed3567ea022002a532777a6e81803a2970fd7"},
		"linux-arm64":        {"librocksdbjni-linux-aarch64.so", "c0c380d94ff7a444b668d15fc8903596fb055136a175ec53ce0faecdcbfc4b63"},
		"linux-arm64-musl":   {"librocksdbjni-linux-aarch64-musl.so", "56aba47e7e5895f23db36f437f2888bd860dc175661f9b1876990b92da14ef90"},
		"linux-ppc64le":      {"librocksdbjni-linux-ppc64le.so", "fc2fc4dc8e75a540bc0ca5a766ed53c3e844cc3cb4ec2bfe297a2516ca31ec06"},
		"linux-ppc64le-musl": {"librocksdbjni-linux-ppc64le-musl.so", "4fad764339c238282e30246c2ed37e6ac5ad039b0c309d59850da23ee1c74763"},
		"linux-riscv64":      {"librocksdbjni-linux-riscv64.so", "2ee7007833bd33c971b34ed758a5d791d9ce7fab5857be53da6c80afd834a18f"},
		"linux-riscv64-musl": {"librocksdbjni-linux-riscv64-musl.so", "fca658769cfb32237c3d859e734f263da031014ee6e8b2d675533ab4e58abc4d"},
		"linux-s390x":        {"librocksdbjni-linux-s390x.so", "177908a3b8c7a81ce2ced4c5e842b6297b865c4950167c7083defdfe259ce8d7"},
		"linux-s390x-musl":   {"librocksdbjni-linux-s390x-musl.so", "636d94ad29754a04e6c24118b800ed0b23637cb4850d87c8011c41f595dcb0c1"},
		"darwin-amd64":       {"librocksdbjni-osx-x86_64.jnilib", "b6270441c8df081b4e2624c7df6d851319a914a0aeab8fad1d4a9598bb4c6908"},
		"darwin-arm64":       {"librocksdbjni-osx-arm64.jnilib", "581757a2280d4b9e3dbe078f171296bb1557eda4a7a6605d54dfeeca8293e5da"},
	}
}

// hostPlatform describes a machine. Its entry is empty if the release has no
// library for it.
func hostPlatform(goos, goarch string, musl bool) platform {
	p := platform{name: goos + "-" + goarch, lib: "librocksdb.so", origin: "$ORIGIN"}
	if goos == "darwin" {
		p.lib, p.origin = "librocksdb.dylib", "@loader_path"
	}
	if goos == "linux" && musl {
		p.name += "-musl"
	}
	if e, ok := entries()[p.name]; ok {
		p.entry, p.sha256 = e[0], e[1]
	}
	return p
}

// muslLibc says whether the C library in dir is musl rather than glibc.
func muslLibc(dir string) bool {
	found, err := filepath.Glob(filepath.Join(dir, "ld-musl-*.so.1"))
	return err == nil && len(found) > 0
}
