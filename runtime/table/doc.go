// Package table keeps streaming tables on local disk in the layout of Delta
// Lake: Parquet files and a log of JSON commits, which any Delta reader opens.
//
// # Model
//
// A [Store] is a folder with one folder for each table. A table's content is
// what its log says, version by version; a file that the log does not name is
// not part of the table. A commit unit opens a table as a [stream.TableSink].
// For each attempt at an epoch the sink takes rows, lane by lane, into column
// buffers; Prepare writes them to new data files; Publish adds the files of the
// decided attempt to the log, together with the unit's progress. Opened as a
// [stream.TableReader], a table is a source of the rows that its versions add.
//
//	<table>/part-<epoch>-<attempt>-<uuid>.c<n>.snappy.parquet
//	<table>/_delta_log/<version>.json
//
// Several units, Stores and processes may write one table.
//
// # Exactly once
//
// The log holds, for each unit, the epoch that it published last (a txn action)
// and which decision that was (in the commitInfo of the same commit). Each
// epoch's staged state names the epoch that the table must be at before it.
// Publish reads the log and
//
//   - appends, if the table is where the state requires it;
//   - does nothing, if the epoch is there by the same decision, or has no rows;
//   - refuses, if the table is anywhere else: the checkpoint is a copy, or the
//     table was set back.
//
// # Invariants
//
//   - T1: a version of the log is created with put-if-absent and never changed.
//     Whoever loses the race reads what has come and decides anew.
//   - T2: a data file is whole and durable before Prepare returns, has a name of
//     its own, and is never changed.
//   - T3: everything that a row's values can be refused for is found before
//     Prepare returns. What can stop Publish lies outside of the rows: the table
//     was changed by others, or staged files are gone. Such an epoch is
//     "decided, unpublished" (see [ErrUnpublished]); nothing is written and a
//     person chooses.
//   - T4: publications of one process that wait at the same time share a
//     commit.
//   - T5: only files that this process staged, for an attempt that can no longer
//     be decided, are ever deleted. A crash leaves files that no version names;
//     readers never see them, and a VACUUM removes them.
//
// The mapping of types and the rules in full are in docs/internals/table.md.
package table
