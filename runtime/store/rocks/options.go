//go:build cgo && grocksdb_no_link

package rocks

import "github.com/linxGnu/grocksdb"

// What files look like is pinned here and never left to a library's defaults, so
// that another RocksDB release writes what this one reads.
const (
	tableFormat   = 6 // format_version: since RocksDB 8.6
	tableChecksum = 4 // XXH3
	blockBytes    = 4 << 10
	// bloomBits per key give one wrong guess in a hundred.
	bloomBits = 10
)

// writeBudget is the part of the memory for memtables.
func writeBudget(memory int64) int64 { return memory / 2 }

// memtableBytes is how large one memtable may grow before it is flushed. All
// stores' together are bounded by the budget, which flushes the largest first.
func memtableBytes(memory int64) uint64 {
	return uint64(min(64<<20, max(1<<20, writeBudget(memory)/4)))
}

// buckets is the size of the point memtable's hash table. 200,000 buckets of 8
// bytes were measured best; with little memory they would use up the budget of
// many stores before there is any data, so one table takes 0.3 % of it at most.
func buckets(memory int64) uint {
	return uint(min(200_000, max(1<<10, writeBudget(memory)/2560)))
}

// storeOptions are the options of one open store. They live as long as it does,
// for they own its compaction filters.
type storeOptions struct {
	db, point, ordered *grocksdb.Options
}

func (e *Engine) storeOptions(create bool, filter func() grocksdb.CompactionFilter) (*storeOptions, error) {
	point, err := e.pointOptions()
	if err != nil {
		return nil, err
	}
	o := &storeOptions{db: e.dbOptions(create), point: point, ordered: e.orderedOptions()}
	o.point.SetCompactionFilter(filter())
	o.ordered.SetCompactionFilter(filter())
	return o, nil
}

func (o *storeOptions) free() {
	o.db.Destroy()
	o.point.Destroy()
	o.ordered.Destroy()
}

// dbOptions are those that are not a family's.
func (e *Engine) dbOptions(create bool) *grocksdb.Options {
	o := grocksdb.NewDefaultOptions()
	o.SetCreateIfMissing(create)
	o.SetCreateIfMissingColumnFamilies(create)
	o.SetAtomicFlush(true)
	o.SetWriteBufferManager(e.budget)
	// Hash memtables cannot be written by several threads, and nobody does.
	o.SetAllowConcurrentMemtableWrites(false)
	o.SetParanoidChecks(true)
	// RocksDB's own log is for who debugs RocksDB; errors come to us anyway.
	o.SetInfoLogLevel(grocksdb.WarnInfoLogLevel)
	o.SetKeepLogFileNum(2)
	o.SetMaxLogFileSize(1 << 20)
	o.SetStatsDumpPeriodSec(0)
	o.SetStatsPersistPeriodSec(0)
	return o
}

// pointOptions are those of the point family: only ever read by exact key.
func (e *Engine) pointOptions() (*grocksdb.Options, error) {
	base := e.familyOptions()
	defer base.Destroy()
	// A hash memtable hashes what the prefix extractor returns: the whole key.
	// SetPrefixExtractor is not for us: grocksdb frees the extractor once more
	// than RocksDB, which owns it.
	o, err := grocksdb.GetOptionsFromString(base, "prefix_extractor=rocksdb.Noop")
	if err != nil {
		return nil, err
	}
	o.SetHashLinkListRep(buckets(e.memory))
	return o, nil
}

// orderedOptions are those of the ordered family: the default memtable, a skip
// list, is in key order.
func (e *Engine) orderedOptions() *grocksdb.Options { return e.familyOptions() }

// familyOptions are those that both families have.
func (e *Engine) familyOptions() *grocksdb.Options {
	o := grocksdb.NewDefaultOptions()
	o.SetWriteBufferSize(memtableBytes(e.memory))
	o.SetMaxWriteBufferNumber(3)
	o.SetAllowConcurrentMemtableWrites(false)
	o.SetCompression(grocksdb.LZ4Compression)
	table := grocksdb.NewDefaultBlockBasedTableOptions()
	defer table.Destroy()
	table.SetFormatVersion(tableFormat)
	table.SetChecksum(tableChecksum)
	table.SetBlockSize(blockBytes)
	table.SetBlockCache(e.cache)
	// Indexes and filters count against the cache like any block.
	table.SetCacheIndexAndFilterBlocks(true)
	table.SetCacheIndexAndFilterBlocksWithHighPriority(true)
	table.SetPinL0FilterAndIndexBlocksInCache(true)
	table.SetFilterPolicy(grocksdb.NewBloomFilterFull(bloomBits))
	table.SetDataBlockIndexType(grocksdb.KDataBlockIndexTypeBinarySearchAndHash)
	table.SetDataBlockHashRatio(0.75)
	o.SetBlockBasedTableFactory(table)
	return o
}
