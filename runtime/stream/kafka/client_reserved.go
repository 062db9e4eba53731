package kafka

import (
	"context"
	"errors"
	"net"
	"reflect"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reservedOption is an option of the client that a user may not change: reading
// each record once, or writing each row once, rests on it.
type reservedOption struct {
	name    string // as kgo names it
	instead string // what to do in place of setting it, "" for nothing
}

// reservedOptions lists them. Of the others, what the client does by itself changes
// its speed, its memory or its connections, or makes it fail; what it calls, such as
// hooks and compressors, is the user's own code.
func reservedOptions() []reservedOption {
	return []reservedOption{
		// What is read, and whether a client may go elsewhere when that is gone.
		{"FetchIsolationLevel", "set Source.ReadUncommitted to read what is not committed"},
		{"ConsumeResetOffset", "set Source.OnLostData to go on when records are lost"},
		{"ConsumeTopics", "set Source.Topic or Source.Topics"},
		{"ConsumeRegex", "set Source.Pattern"},
		{"ConsumePartitions", "set Source.Partitions, and Source.StartingOffsets for where to begin"},
		{"ConsumerGroup", "set Source.Group to show the lag"},
		{"ShareGroup", ""},
		{"BlockRebalanceOnPoll", ""}, // nobody allows it again
		// To which transaction, topic and partition a record goes, and when it is there.
		{"TransactionalID", ""},
		{"TransactionTimeout", "set Sink.TransactionTimeout"},
		{"RecordPartitioner", "set Sink.Partitioner or Sink.Partition"},
		{"RackAwarePartitioning", ""}, // the journal's partitions would be numbered otherwise
		{"DefaultProduceTopicAlways", "set Sink.Topic"},
		{"RequiredAcks", ""},
		{"MaxProduceRequestsInflightPerBroker", ""},
		// Whether a topic is the one that was there. A journal that was deleted would come
		// back with a policy by which the brokers delete what must stay.
		{"AllowAutoTopicCreation", "create the topic before"},
		// Whether damage and loss are noticed: by checksums, and by the epochs of leaders,
		// which older versions of the protocol do not have.
		{"DisableFetchCRCValidation", ""},
		{"MaxVersions", ""},
	}
}

// checkReserved reports an option that a user's options changed, in a client that
// was made of given ones and the user's.
func checkReserved(client *kgo.Client, given []kgo.Opt) *failure {
	nowhere := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("not to be used") }
	plain, err := kgo.NewClient(append(given[:len(given):len(given)], kgo.Dialer(nowhere))...)
	if err != nil {
		return fail(lasting, err, "client options of ours: %v", err)
	}
	defer plain.Close()
	for _, o := range reservedOptions() {
		if sameOption(plain.OptValues(o.name), client.OptValues(o.name)) {
			continue
		}
		instead := ""
		if o.instead != "" {
			instead = ", " + o.instead
		}
		return fail(refused, nil, "client options: kgo.%s is not yours to set, since what is read and written once rests on it: leave it out of ClientOptions%s", o.name, instead)
	}
	return nil
}

// sameOption compares the values of an option in two clients. Partitioners of kgo
// hold functions and are equal to nothing; their type tells whether one was set.
func sameOption(a, b []any) bool {
	if _, own := a[0].(*topicPartitioner); !own {
		if _, partitioner := a[0].(kgo.Partitioner); partitioner {
			return reflect.TypeOf(a[0]) == reflect.TypeOf(b[0])
		}
	}
	return reflect.DeepEqual(a, b)
}
