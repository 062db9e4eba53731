package kafka

import "context"

// inquiry is a question that is asked of the cluster in the background, one at a
// time. Whoever asks looks now and then whether the answer is there, and never waits
// for a broker. The zero inquiry asks nothing.
type inquiry[A any] struct {
	answer chan A // holds one; nil while nothing is asked
	drop   context.CancelFunc
}

// open reports whether the answer is still to be taken.
func (q *inquiry[A]) open() bool { return q.answer != nil }

// ask asks in a goroutine, which must end when its context does. The inquiry must not
// be open.
func (q *inquiry[A]) ask(do func(context.Context) A) {
	ctx, drop := context.WithCancel(context.Background())
	answer := make(chan A, 1)
	q.answer, q.drop = answer, drop
	go func() { answer <- do(ctx) }()
}

// take returns the answer if it is there.
func (q *inquiry[A]) take() (a A, ok bool) {
	if !q.open() {
		return a, false
	}
	select {
	case a = <-q.answer:
		q.drop()
		q.answer = nil
		return a, true
	default:
		return a, false
	}
}

// end drops the question, and waits until nobody works on it.
func (q *inquiry[A]) end() {
	if q.open() {
		q.drop()
		<-q.answer
		q.answer = nil
	}
}
