package engine

import (
	"bytes"
	"cmp"
)

// origin is the session that emitted a row: what the rows of a key are in order
// of, so that it does not depend on the number of state partitions. Input
// sessions come first, in the order of key group and key, then timer sessions, in
// the order of time, key and timer id: the order in which one partition would
// have run them all.
type origin struct {
	timer  bool
	group  uint16
	id     uint16
	micros int64
	off, n int // of the key in the lane's keys
}

// noOrigin marks rows of a source, whose order is that of lanes.
const noOrigin = -1

const originOverhead = 48

// from makes a session the origin of the rows that are put next.
func (l *Lane) from(o origin, key []byte) {
	if l != nil {
		l.written, l.session, l.sessionKey, l.noted = true, o, key, false
	}
}

// note returns the number of the present origin, keeping it at its first row.
func (l *Lane) note() (number int32, size int) {
	switch {
	case !l.written:
		return noOrigin, 0
	case l.noted:
		return int32(len(l.origins) - 1), 0
	}
	l.noted = true
	l.session.off, l.session.n = len(l.keys), len(l.sessionKey)
	l.keys = append(l.keys, l.sessionKey...)
	l.origins = append(l.origins, l.session)
	return int32(len(l.origins) - 1), originOverhead + l.session.n
}

func (l *Lane) key(o *origin) []byte { return l.keys[o.off : o.off+o.n] }

// compareOrigins orders rows of two lanes.
func compareOrigins(la *Lane, a int32, lb *Lane, b int32) int {
	if a == noOrigin || b == noOrigin {
		return 0
	}
	oa, ob := &la.origins[a], &lb.origins[b]
	switch {
	case oa.timer != ob.timer:
		if ob.timer {
			return -1
		}
		return 1
	case !oa.timer:
		return cmp.Or(cmp.Compare(oa.group, ob.group), bytes.Compare(la.key(oa), lb.key(ob)))
	}
	return cmp.Or(cmp.Compare(oa.micros, ob.micros), bytes.Compare(la.key(oa), lb.key(ob)), cmp.Compare(oa.id, ob.id))
}
