package dialogue_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// model is what state, timers and epochs mean, in plain Go: the rules of
// docs/reference/semantics.md without stores, partitions, codecs or recovery.
type model struct {
	now    time.Duration // since 1970
	epochs int
	keys   map[string]*modelKey
	out    []string // "epoch key: text"
}

// timed is a value and when it expires.
type timed[T any] struct {
	value   T
	expires time.Duration
}

// pending is a timer that is set. fresh ones were set in the timer phase that runs.
type pending struct {
	at    time.Duration
	id    int // 0 raw, 1 alarm, 2 snooze
	fresh bool
}

// modelKey is the state of one key.
type modelKey struct {
	count  *int64
	lease  *timed[int64]
	list   []string
	log    []timed[string]
	table  map[string]int64
	cache  map[int64]timed[string]
	plans  map[string]string
	timers []pending
}

var timerNames = []string{"timer", "alarm", "snooze"}

const leaseTTL, cacheTTL, logTTL = 60 * time.Second, 60 * time.Second, 90 * time.Second

// modelRow is a command for a key.
type modelRow struct{ key, do string }

// run reads the rows in epochs of at most limit rows, then fires what is due: the
// last epoch of rows and one more.
func (m *model) run(rows []modelRow, limit int) {
	if limit == 0 {
		limit = len(rows)
	}
	fired := 0
	for len(rows) > 0 {
		n := min(limit, len(rows))
		fired = m.epoch(rows[:n])
		rows = rows[n:]
	}
	for rounds := min(fired, 1); rounds < 2 && len(m.due()) > 0; rounds++ {
		m.epoch(nil)
	}
}

// epoch runs one epoch and returns how many timers fired.
func (m *model) epoch(rows []modelRow) (fired int) {
	m.epochs++
	before := len(m.out)
	for _, r := range rows {
		m.do(r.key, r.do, false)
	}
	for _, d := range m.due() {
		k := m.key(d.key)
		i := slices.Index(k.timers, d.timer)
		if i < 0 { // cancelled, or set anew in this phase
			continue
		}
		fired++
		k.timers = slices.Delete(k.timers, i, i+1)
		name := timerNames[d.timer.id]
		m.emit(d.key, fmt.Sprintf("%s of %s fired", name, d.timer.at))
		if plan, ok := k.plans[name]; ok {
			for command := range strings.SplitSeq(plan, ";") {
				m.do(d.key, strings.TrimSpace(command), true)
			}
		}
	}
	for _, k := range m.keys {
		for i := range k.timers {
			k.timers[i].fresh = false
		}
	}
	slices.SortStableFunc(m.out[before:], func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		a, _, _ = strings.Cut(a, ":")
		b, _, _ = strings.Cut(b, ":")
		return strings.Compare(a, b)
	})
	return fired
}

type dueTimer struct {
	key   string
	timer pending
}

// due returns the timers that are due, in the order of time, key and id.
func (m *model) due() []dueTimer {
	var all []dueTimer
	for key, k := range m.keys {
		for _, t := range k.timers {
			if t.at <= m.now {
				all = append(all, dueTimer{key, t})
			}
		}
	}
	slices.SortFunc(all, func(a, b dueTimer) int {
		return cmp.Or(cmp.Compare(a.timer.at, b.timer.at), strings.Compare(a.key, b.key), cmp.Compare(a.timer.id, b.timer.id))
	})
	return all
}

func (m *model) key(key string) *modelKey {
	if m.keys[key] == nil {
		m.keys[key] = &modelKey{table: map[string]int64{}, cache: map[int64]timed[string]{}, plans: map[string]string{}}
	}
	return m.keys[key]
}

func (m *model) emit(key, text string) {
	m.out = append(m.out, fmt.Sprintf("%d %s: %s", m.epochs, key, text))
}

// do carries out a command.
func (m *model) do(key, command string, firing bool) {
	words := strings.Fields(command)
	k := m.key(key)
	if words[0] == "plan" {
		k.plans[words[1]] = strings.Join(words[2:], " ")
		return
	}
	var answer string
	op, args := words[1], words[2:]
	switch words[0] {
	case "count":
		answer = k.doCount(op, args)
	case "lease":
		answer = k.doLease(m.now, op, args)
	case "list":
		answer = k.doList(op, args)
	case "log":
		answer = k.doLog(m.now, op, args)
	case "map":
		answer = k.doTable(op, args)
	case "cache":
		answer = k.doCache(m.now, op, args)
	case "timer":
		answer = k.doRaw(m.now, op, args, firing)
	case "alarm", "snooze":
		answer = k.doNamed(m.now, slices.Index(timerNames, words[0]), op, args, firing)
	}
	if answer != "" {
		m.emit(key, command+" = "+answer)
	}
}

func num(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (k *modelKey) doCount(op string, args []string) string {
	switch op {
	case "get":
		if k.count == nil {
			return "none"
		}
		return fmt.Sprint(*k.count)
	case "exists":
		return fmt.Sprint(k.count != nil)
	case "put":
		n := num(args[0])
		k.count = &n
	case "clear":
		k.count = nil
	case "add":
		n := num(args[0])
		if k.count != nil {
			n += *k.count
		}
		k.count = &n
		return fmt.Sprint(n)
	}
	return ""
}

func (k *modelKey) doLease(now time.Duration, op string, args []string) string {
	live := k.lease != nil && now < k.lease.expires
	switch op {
	case "get":
		if !live {
			return "none"
		}
		return fmt.Sprint(k.lease.value)
	case "exists":
		return fmt.Sprint(live)
	case "put":
		k.lease = &timed[int64]{num(args[0]), now + leaseTTL}
	case "clear":
		k.lease = nil
	}
	return ""
}

func joined(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, " ")
}

func (k *modelKey) doList(op string, args []string) string {
	switch op {
	case "all":
		return joined(k.list)
	case "len":
		return fmt.Sprint(len(k.list))
	case "exists":
		return fmt.Sprint(len(k.list) > 0)
	case "put":
		k.list = slices.Clone(args)
	case "append":
		k.list = append(k.list, args...)
	case "clear":
		k.list = nil
	case "drain":
		old := k.list
		if len(old) > 0 {
			k.list = nil
		}
		return joined(old)
	case "double":
		old := slices.Clone(k.list)
		k.list = append(k.list, old...)
		return joined(old)
	}
	return ""
}

func (k *modelKey) doLog(now time.Duration, op string, args []string) string {
	k.log = slices.DeleteFunc(k.log, func(t timed[string]) bool { return now >= t.expires })
	var all []string
	for _, t := range k.log {
		all = append(all, t.value)
	}
	switch op {
	case "all":
		return joined(all)
	case "len":
		return fmt.Sprint(len(all))
	case "exists":
		return fmt.Sprint(len(all) > 0)
	case "clear", "put":
		k.log = nil
	}
	if op == "put" || op == "append" {
		for _, a := range args {
			k.log = append(k.log, timed[string]{a, now + logTTL})
		}
	}
	return ""
}

func (k *modelKey) doTable(op string, args []string) string {
	return doMap(k.table, op, args, func(s string) string { return s }, num, func(s string) string { return s })
}

func (k *modelKey) doCache(now time.Duration, op string, args []string) string {
	live := map[int64]string{}
	for key, t := range k.cache {
		if now < t.expires {
			live[key] = t.value
		}
	}
	answer := doMap(live, op, args, num, func(s string) string { return s }, func(n int64) string { return fmt.Sprint(n) })
	switch op {
	case "put":
		k.cache[num(args[0])] = timed[string]{args[1], now + cacheTTL}
	case "remove":
		delete(k.cache, num(args[0]))
	case "clear":
		clear(k.cache)
	}
	return answer
}

// doMap carries out an operation of a map.
func doMap[K cmp.Ordered, V any](m map[K]V, op string, args []string, key func(string) K, value func(string) V, show func(K) string) string {
	keys := slices.Sorted(maps.Keys(m))
	words := func(of func(k K) string) string {
		var all []string
		for _, k := range keys {
			all = append(all, of(k))
		}
		return joined(all)
	}
	entry := func(k K) string { return fmt.Sprintf("%s=%v", show(k), m[k]) }
	switch op {
	case "all":
		return words(entry)
	case "keys":
		return words(show)
	case "values":
		return words(func(k K) string { return fmt.Sprint(m[k]) })
	case "exists":
		return fmt.Sprint(len(m) > 0)
	case "clear":
		clear(m)
	case "range":
		low, high := key(args[0]), key(args[1])
		keys = slices.DeleteFunc(keys, func(k K) bool { return k < low || k >= high })
		return words(entry)
	case "get":
		if v, ok := m[key(args[0])]; ok {
			return fmt.Sprint(v)
		}
		return "none"
	case "has":
		_, ok := m[key(args[0])]
		return fmt.Sprint(ok)
	case "put":
		m[key(args[0])] = value(args[1])
	case "remove":
		delete(m, key(args[0]))
	}
	return ""
}

// at reads an instant, relative to now if it has a sign.
func at(now time.Duration, word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		panic(err)
	}
	if word[0] == '+' || word[0] == '-' {
		d += now
	}
	return d
}

func (k *modelKey) doRaw(now time.Duration, op string, args []string, firing bool) string {
	find := func(at time.Duration) int {
		return slices.IndexFunc(k.timers, func(p pending) bool { return p.id == 0 && p.at == at })
	}
	switch op {
	case "list":
		var all []time.Duration
		for _, p := range k.timers {
			if p.id == 0 {
				all = append(all, p.at)
			}
		}
		slices.Sort(all)
		var words []string
		for _, d := range all {
			words = append(words, d.String())
		}
		return joined(words)
	case "set":
		for _, a := range args {
			if find(at(now, a)) < 0 {
				k.timers = append(k.timers, pending{at: at(now, a), fresh: firing})
			}
		}
	case "delete":
		for _, a := range args {
			if i := find(at(now, a)); i >= 0 {
				k.timers = slices.Delete(k.timers, i, i+1)
			}
		}
	}
	return ""
}

func (k *modelKey) doNamed(now time.Duration, id int, op string, args []string, firing bool) string {
	i := slices.IndexFunc(k.timers, func(p pending) bool { return p.id == id })
	switch op {
	case "get":
		if i < 0 {
			return "none"
		}
		return k.timers[i].at.String()
	case "stop":
		if i >= 0 {
			k.timers = slices.Delete(k.timers, i, i+1)
		}
	case "set":
		to := at(now, args[0])
		if i >= 0 && k.timers[i].at == to {
			return ""
		}
		if i >= 0 {
			k.timers = slices.Delete(k.timers, i, i+1)
		}
		k.timers = append(k.timers, pending{at: to, id: id, fresh: firing})
	}
	return ""
}
