package dialogue

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	tws "github.com/tws-go/tws/runtime"
)

// thing is a state variable as commands see it.
type thing interface {
	// do carries out an operation and returns its answer, "" if it has none.
	do(op string, args []string) (string, error)
}

var errUsage = errors.New("unknown operation, or wrong number of arguments")

func boolean(b bool, err error) (string, error) { return fmt.Sprint(b), err }

// The states by names of our own: fields of the runtime's types are for
// processors.
type (
	valueState[T any]  interface{ tws.ValueState[T] }
	listState[T any]   interface{ tws.ListState[T] }
	mapState[K, V any] interface{ tws.MapState[K, V] }
)

// value is a ValueState.
type value[T any] struct {
	state valueState[T]
	form  form[T]
}

func (v value[T]) do(op string, args []string) (string, error) {
	switch {
	case op == "get" && len(args) == 0:
		return v.get()
	case op == "exists" && len(args) == 0:
		return boolean(v.state.Exists())
	case op == "clear" && len(args) == 0:
		return "", v.state.Clear()
	case op == "put" && len(args) == 1:
		x, err := v.form.read(args[0])
		if err != nil {
			return "", err
		}
		return "", v.state.Update(x)
	case op == "spoil" && len(args) == 0:
		return v.spoil()
	case op == "add" && len(args) == 1:
		return v.add(args[0])
	}
	return "", errUsage
}

func (v value[T]) get() (string, error) {
	x, ok, err := v.state.Get()
	if err != nil || !ok {
		return "none", err
	}
	return v.form.show(x), nil
}

// spoil changes what Get returned and what Update was given, and tells what the
// state holds after each.
func (v value[T]) spoil() (string, error) {
	got, _, err := v.state.Get()
	if err != nil {
		return "", err
	}
	spoil(got)
	first, err := v.get()
	if err != nil {
		return "", err
	}
	if got, _, err = v.state.Get(); err != nil {
		return "", err
	}
	if err := v.state.Update(got); err != nil {
		return "", err
	}
	spoil(got)
	second, err := v.get()
	return first + " " + second, err
}

func spoil(v any) {
	if p, ok := v.(Profile); ok {
		p.spoil()
	}
}

// add adds to a number and tells the sum.
func (v value[T]) add(word string) (string, error) {
	n, err := number.read(word)
	if err != nil {
		return "", err
	}
	state, ok := any(v.state).(tws.ValueState[int64])
	if !ok {
		return "", errUsage
	}
	old, _, err := state.Get()
	if err != nil {
		return "", err
	}
	return number.show(old + n), state.Update(old + n)
}

// list is a ListState.
type list[T any] struct {
	state listState[T]
	form  form[T]
}

func (l list[T]) do(op string, args []string) (string, error) {
	switch op {
	case "all":
		return l.collect(nil), nil
	case "len":
		n, err := l.state.Len()
		return fmt.Sprint(n), err
	case "exists":
		return boolean(l.state.Exists())
	case "clear":
		return "", l.state.Clear()
	case "drain": // the iteration goes on over what is cleared under it
		return l.collect(l.state.Clear), nil
	case "double": // the iteration does not see what is appended under it
		var vs []T
		for v := range l.state.All() {
			if err := l.state.Append(v); err != nil {
				return "", err
			}
			vs = append(vs, v)
		}
		return showAll(vs, l.form.show), nil
	case "first": // an iteration need not go to its end
		for v := range l.state.All() {
			return l.form.show(v), nil
		}
		return "none", nil
	case "pairs":
		return l.pairs()
	}
	vs, err := l.read(args)
	if err != nil {
		return "", err
	}
	switch {
	case op == "put":
		return "", l.state.Put(vs)
	case op == "append" && len(vs) == 1:
		return "", l.state.Append(vs[0])
	case op == "append":
		return "", l.state.AppendAll(vs)
	}
	return "", errUsage
}

func (l list[T]) read(args []string) ([]T, error) {
	var vs []T
	for _, a := range args {
		v, err := l.form.read(a)
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// collect iterates and calls during at the first element.
func (l list[T]) collect(during func() error) string {
	var vs []T
	for v := range l.state.All() {
		if during != nil {
			if err := during(); err != nil {
				return err.Error()
			}
			during = nil
		}
		vs = append(vs, v)
	}
	return showAll(vs, l.form.show)
}

// pairs moves two iterations on by turns.
func (l list[T]) pairs() (string, error) {
	var words []string
	next, stop := iter.Pull(l.state.All())
	defer stop()
	for v := range l.state.All() {
		other, ok := next()
		if !ok {
			return "", errors.New("the second iteration ended early")
		}
		words = append(words, l.form.show(v)+"="+l.form.show(other))
	}
	return strings.Join(words, " "), nil
}

// table is a MapState.
type table[K, V any] struct {
	state mapState[K, V]
	key   form[K]
	value form[V]
}

func (m table[K, V]) do(op string, args []string) (string, error) {
	switch {
	case op == "all":
		return m.entries(m.state.All()), nil
	case op == "keys":
		return sequence(m.state.Keys(), m.key.show), nil
	case op == "values":
		return sequence(m.state.Values(), m.value.show), nil
	case op == "exists":
		return boolean(m.state.Exists())
	case op == "clear":
		return "", m.state.Clear()
	case op == "prune":
		return m.prune()
	case op == "range" && len(args) == 2:
		return m.between(args[0], args[1])
	case len(args) == 0:
		return "", errUsage
	}
	k, err := m.key.read(args[0])
	if err != nil {
		return "", err
	}
	switch {
	case op == "get" && len(args) == 1:
		return m.get(k)
	case op == "has" && len(args) == 1:
		return boolean(m.state.Contains(k))
	case op == "remove" && len(args) == 1:
		return "", m.state.Remove(k)
	case op == "put" && len(args) == 2:
		v, err := m.value.read(args[1])
		if err != nil {
			return "", err
		}
		return "", m.state.Update(k, v)
	}
	return "", errUsage
}

func (m table[K, V]) get(k K) (string, error) {
	v, ok, err := m.state.Get(k)
	if err != nil || !ok {
		return "none", err
	}
	return m.value.show(v), nil
}

func (m table[K, V]) between(from, to string) (string, error) {
	low, err := m.key.read(from)
	if err != nil {
		return "", err
	}
	high, err := m.key.read(to)
	if err != nil {
		return "", err
	}
	return m.entries(m.state.Range(low, high)), nil
}

func (m table[K, V]) entries(seq iter.Seq2[K, V]) string {
	var words []string
	for k, v := range seq {
		words = append(words, m.key.show(k)+"="+m.value.show(v))
	}
	return showAll(words, func(s string) string { return s })
}

// prune removes every second entry while it iterates, and uses its value after
// the removal: the iteration skips and repeats nothing.
func (m table[K, V]) prune() (string, error) {
	n := 0
	var removed []string
	for k, v := range m.state.All() {
		if n++; n%2 != 0 {
			continue
		}
		if err := m.state.Remove(k); err != nil {
			return "", err
		}
		if still, err := m.state.Contains(k); err != nil || still {
			return "", fmt.Errorf("%s is still there: %v", m.key.show(k), err)
		}
		removed = append(removed, m.key.show(k)+"="+m.value.show(v))
	}
	return fmt.Sprintf("saw %d, removed %d, the last %s", n, len(removed), removed[len(removed)-1]), nil
}

func sequence[T any](seq iter.Seq[T], show func(T) string) string {
	var all []T
	for v := range seq {
		all = append(all, v)
	}
	return showAll(all, show)
}
