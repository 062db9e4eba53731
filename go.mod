module github.com/tws-go/tws

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/linxGnu/grocksdb v1.11.1 // indirect
	github.com/tidwall/btree v1.8.2 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
)
