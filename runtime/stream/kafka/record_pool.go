package kafka

import "github.com/twmb/franz-go/pkg/kgo"

const (
	poolSlab  = 512
	poolSlabs = 64 // kept
)

// recordPool keeps records for the next delivery.
type recordPool struct {
	slabs [][]kgo.Record
	used  int
}

// rewind makes all records free.
func (p *recordPool) rewind() {
	p.slabs = p.slabs[:min(len(p.slabs), poolSlabs)]
	p.used = 0
}

// take returns an empty record.
func (p *recordPool) take() *kgo.Record {
	slab := p.used / poolSlab
	if slab == len(p.slabs) {
		if slab >= poolSlabs { // kept by nobody but whoever has its records
			p.slabs[slab-1] = make([]kgo.Record, poolSlab)
			p.used -= poolSlab
			slab--
		} else {
			p.slabs = append(p.slabs, make([]kgo.Record, poolSlab))
		}
	}
	r := &p.slabs[slab][p.used%poolSlab]
	*r = kgo.Record{}
	p.used++
	return r
}
