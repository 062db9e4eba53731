package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recycler lends the client the memory of records that were read before: fetching
// would otherwise make most of a flow's garbage. The memory comes back record by
// record, once their rows are yielded; see [kgo.Record.Recycle].
type recycler struct{ records, bytes sync.Pool }

// GetRecords implements [kgo.PoolRecords].
func (p *recycler) GetRecords(n int) []kgo.Record {
	if s, ok := p.records.Get().(*[]kgo.Record); ok && cap(*s) >= n {
		return (*s)[:n]
	}
	return make([]kgo.Record, n)
}

// PutRecords implements [kgo.PoolRecords].
func (p *recycler) PutRecords(s []kgo.Record) { p.records.Put(&s) }

// GetDecompressBytes implements [kgo.PoolDecompressBytes].
func (p *recycler) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte {
	if s, ok := p.bytes.Get().(*[]byte); ok {
		return *s
	}
	return nil
}

// PutDecompressBytes implements [kgo.PoolDecompressBytes].
func (p *recycler) PutDecompressBytes(s []byte) { p.bytes.Put(&s) }
