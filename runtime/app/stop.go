package app

import (
	"context"
	"os"
	"syscall"
)

// stopBySignal calls stop at the first signal and ends the process at the
// second, until release is called.
func (e *env) stopBySignal(stop context.CancelFunc, r *report) (release func()) {
	signals, giveBack := e.signals()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case s := <-signals:
			r.stopping(s)
			stop()
		case <-done:
			return
		}
		select {
		case s := <-signals:
			r.abort(s)
			e.exit(signalCode(s))
		case <-done:
		}
	}()
	return func() {
		giveBack()
		close(done)
		<-ended
	}
}

// signalCode is the exit code of a process that a signal ended, as shells give
// it.
func signalCode(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitFailed
}

// signalName is the signal's name as people type it.
func signalName(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	}
	return s.String()
}
