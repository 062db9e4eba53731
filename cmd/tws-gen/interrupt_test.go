package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tws-go/tws/gen"
)

// A run that looks at no context, as the type checker does, is not waited for.
func TestInterruptible(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	never := make(chan struct{})
	defer close(never)
	_, err := interruptible(ctx, func() (*gen.Result, error) {
		cancel(errors.New("enough"))
		<-never
		return nil, nil
	})
	if err == nil || !strings.Contains(err.Error(), "nothing was written: enough") {
		t.Errorf("got %v", err)
	}
}

func TestUninterrupted(t *testing.T) {
	t.Parallel()
	want, cause := new(gen.Result), errors.New("no module")
	got, err := interruptible(t.Context(), func() (*gen.Result, error) { return want, cause })
	if got != want || !errors.Is(err, cause) {
		t.Errorf("got %p and %v, want %p and %v", got, err, want, cause)
	}
}
