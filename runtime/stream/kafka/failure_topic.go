package kafka

import (
	"context"
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tws-go/tws/runtime/stream"
)

// explain tells in a [ClusterError] what a request about a topic failed of: what
// happened, with which resource, and what to do. topic is empty where the request
// is about none. Errors that were told already, those of ctx included, come back
// as they are.
func explain(cluster, topic string, err error) error {
	told, _ := errors.AsType[*ClusterError](err)
	if err == nil || told != nil || errors.Is(err, context.Canceled) {
		return err
	}
	about := ""
	if topic != "" {
		topic = "topic " + topic
		about = topic + ": "
	} else {
		topic = "a topic"
	}
	for _, look := range []func(string, error) *failure{explainMissing, explainPermission, explainSize, explainTransaction, explainTime} {
		if f := look(topic, err); f != nil {
			return &ClusterError{cluster, f}
		}
	}
	if wrong, ok := errors.AsType[*stream.SettingError](err); ok {
		return &ClusterError{cluster, fail(refused, err, "%s: %s", wrong.Key, wrong.Err)}
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return &ClusterError{cluster, fail(gradeOf(ke), err, "%s%s: %s", about, ke.Message, ke.Description)}
	}
	return &ClusterError{cluster, fail(passing, err, "%s%s", about, err)}
}

func gradeOf(e *kerr.Error) grade {
	if e.Retriable {
		return passing
	}
	return lasting
}

func explainMissing(topic string, err error) *failure {
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return fail(lasting, err, "%s does not exist, or has fewer partitions than before, or may not be described by us: create it, correct its name, or grant DESCRIBE on it", topic)
	case errors.Is(err, kerr.UnknownTopicID):
		return fail(lasting, err, "%s was deleted, and maybe created anew", topic)
	case errors.Is(err, kerr.InvalidTopicException):
		return fail(refused, err, "%s has a name that the cluster does not allow: letters, digits, '.', '_' and '-', at most 249", topic)
	case errors.Is(err, kerr.OffsetOutOfRange):
		return fail(lasting, err, "%s no longer has the offset that was asked for, or not yet", topic)
	case errors.Is(err, kerr.PolicyViolation), errors.Is(err, kerr.InvalidReplicationFactor), errors.Is(err, kerr.InvalidConfig):
		return fail(refused, err, "%s cannot be made as asked: %s; make it by hand, or as the cluster's rules want it", topic, err)
	}
	return nil
}

func explainPermission(topic string, err error) *failure {
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return fail(refused, err, "we may not use %s: grant this user READ and DESCRIBE on it to read, WRITE and DESCRIBE to write, CREATE to make it, DESCRIBE_CONFIGS to check it", topic)
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		return fail(refused, err, "we may not use the consumer group: grant this user READ on that group")
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed):
		return fail(refused, err, "we may not use the transactional id: grant this user WRITE and DESCRIBE on that transactional id")
	case errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fail(refused, err, "we may not use the resource Cluster: grant this user IDEMPOTENT_WRITE to write, CREATE to make topics, DESCRIBE to see brokers")
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fail(refused, err, "the cluster no longer accepts our user: wrong password, unknown user or expired token")
	case errors.Is(err, kerr.SecurityDisabled):
		return fail(lasting, err, "the cluster has no permissions to ask about")
	}
	return nil
}

func explainSize(topic string, err error) *failure {
	switch {
	case errors.Is(err, kerr.MessageTooLarge):
		return fail(lasting, err, "a row is larger than %s takes: raise max.message.bytes of the topic, or write smaller rows", topic)
	case errors.Is(err, kerr.RecordListTooLarge):
		return fail(lasting, err, "a batch of rows is larger than a segment of %s: raise segment.bytes of the topic, or write smaller rows", topic)
	case errors.Is(err, kerr.InvalidRecord):
		return fail(lasting, err, "%s refuses a row: a compacted topic needs a key in each", topic)
	case errors.Is(err, kerr.CorruptMessage):
		return fail(passing, err, "a batch of %s did not arrive as it was sent: its checksum is wrong", topic)
	}
	return nil
}

func explainTransaction(topic string, err error) *failure {
	switch {
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return fail(refused, err, "the transaction timeout is more than the cluster allows: lower it, or raise transaction.max.timeout.ms of the brokers")
	case errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.ProducerFenced), errors.Is(err, kerr.FencedInstanceID):
		return fail(lasting, err, "another instance took over our transactional id, or our transaction timed out: only one of two that run can go on")
	case errors.Is(err, kerr.TransactionalIDNotFound):
		return fail(lasting, err, "the cluster forgot our transactional id, as it does after transactional.id.expiration.ms")
	case errors.Is(err, kerr.TransactionCoordinatorFenced), errors.Is(err, kerr.ConcurrentTransactions):
		return fail(passing, err, "the transaction before is not finished yet")
	case errors.Is(err, kerr.NotEnoughReplicas), errors.Is(err, kerr.NotEnoughReplicasAfterAppend):
		return fail(passing, err, "too few replicas of %s are in sync: see min.insync.replicas, and whether brokers are down", topic)
	}
	return nil
}

func explainTime(topic string, err error) *failure {
	switch {
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries):
		return fail(passing, err, "%s did not take rows in time: brokers are down, slow or unreachable", topic)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, kerr.RequestTimedOut):
		return fail(passing, err, "%s: the cluster did not answer in time", topic)
	case errors.Is(err, kerr.LeaderNotAvailable), errors.Is(err, kerr.NotLeaderForPartition), errors.Is(err, kerr.CoordinatorNotAvailable), errors.Is(err, kerr.NotCoordinator):
		return fail(passing, err, "%s has no leader for now: brokers are starting or down", topic)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(passing, err, "%s: a broker closed the connection", topic)
	}
	return diagnoseNet("of "+topic, err)
}
