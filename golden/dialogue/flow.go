package dialogue

import tws "github.com/tws-go/tws/runtime"

// Flow sends the commands of a source to a [Script].
func Flow(source tws.Source[Command]) func(*tws.Flow) tws.Stream[Result] {
	return func(f *tws.Flow) tws.Stream[Result] {
		return tws.TransformWithState(
			tws.GroupBy(tws.ReadStream(f, source), func(c Command) string { return c.Key }),
			func() *Script { return new(Script) },
		)
	}
}
