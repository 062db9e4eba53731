// Command pipeline runs the pipeline of the Kafka tests as a process of its own, so
// that a test can kill it. It works until it is killed or, with -interval 0, until
// everything that is there is read.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/tws-go/tws/golden/kafka/internal/pipeline"
	tws "github.com/tws-go/tws/runtime"
	"github.com/tws-go/tws/runtime/epoch"
	"github.com/tws-go/tws/runtime/table"
)

func main() {
	var topics pipeline.Topics
	folder := flag.String("folder", "", "where checkpoint and tables are")
	interval := flag.Duration("interval", 0, "how often an epoch runs; 0 reads what is there and ends")
	flag.StringVar(&topics.Brokers, "brokers", "", "where the cluster is")
	flag.StringVar(&topics.Sensors, "sensors", "", "the topic of readings")
	flag.StringVar(&topics.Counts, "counts", "", "the topic of counts")
	flag.StringVar(&topics.Alerts, "alerts", "", "the topic of alerts")
	flag.StringVar(&topics.Journal, "journal", "", "the journal topic")
	flag.DurationVar(&topics.Timeout, "timeout", 0, "the timeout of transactions")
	flag.Parse()
	if err := run(*folder, *interval, topics); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func run(folder string, interval time.Duration, topics pipeline.Topics) error {
	stores, err := openStores()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	o := tws.Options{
		Checkpoint: filepath.Join(folder, "checkpoint"),
		Clusters:   topics.Clusters(),
		Conf:       pipeline.Small(),
		Log:        log,
		Stores:     stores,
		Tables:     table.NewStore(filepath.Join(folder, "tables"), table.Options{Log: log}),
		OnEpoch: func(s epoch.Stats) {
			log.Info(pipeline.EpochLine, "flow", s.Flow, "epoch", s.Epoch, "in", s.RowsIn, "out", s.RowsOut)
		},
	}
	if interval > 0 {
		o.Trigger = tws.ProcessingTime(interval)
	}
	p := tws.NewPipeline(o)
	topics.AddAlerts(p)
	topics.AddPublish(p)
	topics.AddCounts(p)
	return p.Run(context.Background())
}
