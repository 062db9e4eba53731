package tws

import (
	"iter"
	"strings"
	"testing"

	"github.com/tws-go/tws/codec"
	"github.com/tws-go/tws/schemas"
)

// edited is a processor whose generated code was changed by hand: its state has
// another TTL than the fingerprint says.
type edited struct {
	Processor[int64, int64, int64]
	ttl int64
}

func (p *edited) schema(ttl int64) schemas.Processor {
	return schemas.Processor{
		Name: "edited", TimeMode: schemas.TimeProcessing, OutputMode: schemas.OutputAppend,
		Key:    schemas.Type{Kind: schemas.Int64},
		States: []schemas.State{{ID: 1, Name: "s", Kind: schemas.ValueState, Version: 1, Value: schemas.Type{Kind: schemas.Int64}, TTLMicros: ttl}},
	}
}

func (p *edited) BindTWS(*Binder) Binding[int64, int64, int64] {
	row := &Row[int64]{}
	return Binding[int64, int64, int64]{
		Processor: p.schema(p.ttl), Fingerprint: p.schema(1).Fingerprint(),
		Key: KeyCodec[int64]{Append: codec.AppendKeyInt64, Read: (*codec.KeyReader).Int64},
		In:  row, Out: row,
	}
}

func (p *edited) HandleInputRows(*InputContext, int64, iter.Seq[int64], Emitter[int64]) error {
	return nil
}

// Generated code that is not what the generator wrote is refused at start.
func TestFingerprintIsCompared(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[int64]string{1: "", 2: "go generate"} {
		p := NewPipeline(Options{})
		AppendFlow(p, NewSink[int64](nowhere{}), "flow", func(f *Flow) Stream[int64] {
			s := ReadStream(f, Source[int64](emptySource[int64]{name: "s"}))
			return TransformWithState(GroupBy(s, func(v int64) int64 { return v }), func() *edited { return &edited{ttl: ttl} })
		})
		_, err := p.flows[0].build()
		switch {
		case want == "" && err != nil:
			t.Errorf("ttl %d: %v", ttl, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("ttl %d: got %v, want an error with %q", ttl, err, want)
		}
	}
}

// nowhere is a sink that is never opened.
type nowhere struct{ SinkImpl[int64] }

func (nowhere) SinkName() string { return "nowhere" }
