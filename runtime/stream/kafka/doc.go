// Package kafka reads topics into flows and writes flows into topics.
//
//	orders := tws.ReadStream(f, kafka.Source[Order]{Topic: "orders"})
//
//	var Totals = tws.NewSink(kafka.Sink[Total]{
//		Topic: "totals",
//		Key:   func(t Total) []byte { return []byte(t.Customer) },
//	})
//
// Where the cluster is comes from the configuration, under the name "main" unless
// Cluster says otherwise. docs/guides/kafka.md is a whole pipeline,
// docs/reference/kafka.md tells what there is. The rest of this comment is about the
// inside of a [Source]; docs/internals/kafka.md has that of a sink.
//
// # Model
//
// A source reads partitions. They get ordinals in the order in which they are
// found, and rows are read in the order of (ordinal, offset). The source is no
// member of a consumer group: where it is, the checkpoint says alone.
//
// A feed is all of a source that does not depend on its rows. Its fetcher polls the
// client in the background into backlogs, one for each partition, which together
// are bounded in bytes; when they are full it does not poll. Discover says how far
// the backlogs reach, without a question to a broker. Read takes records out of
// them, so that fetching the next epoch overlaps with working on this one.
//
// A backlog is a range of offsets and every record in it. Not every offset has one:
// there are markers of transactions, records of aborted ones, and what compaction
// took. The client shows markers. Where nothing at all follows, and yet the range
// must reach further, because an earlier run or the log's own end says so, the feed
// asks the leader itself: an answer without records says how far it reached.
//
// # Layout
//
// The journal is a list of JSON entries:
//
//	{"version":1,"topics":[{"topic":"sensors","id":"…","generation":1,"partitions":[{"partition":0,"start":17}]}]}
//
// They say where each partition begins. The first entry comes from
// StartingOffsets, all later ones begin with what the partition has. A topic that
// is made anew, or whose log is cut short, starts a new generation: its partitions
// keep their ordinals and begin again elsewhere. A position is, for example,
//
//	{"sensors":{"0":120,"1":5},"alerts@2":{"0":9}}
//
// the offset of the next record by topic and partition, in the generation behind
// "@" if that is not the first. Partitions that are where they begin are left out.
// What was read of earlier generations stays in the position for good.
//
// # Invariants
//
//   - KR1: a position together with the journal determines an offset in every
//     partition, in one incarnation of its topic.
//   - KR2: a backlog has every record between its base and its end that the
//     isolation level delivers; nothing is put into it that an earlier assignment
//     asked for, or that another incarnation of the topic has.
//   - KR3: offsets without records are passed only when a broker has shown that
//     there are none, or after a warning under the policy EarliestAvailable.
//   - KR4: Discover changes the ledger only when it succeeds, and then exactly as the
//     journal entry says that it returns.
package kafka
