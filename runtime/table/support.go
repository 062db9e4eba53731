package table

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// checkReadable says what keeps this package from reading a table.
func checkReadable(p *protocol, m *tableMeta) error {
	switch {
	case p.MinReaderVersion == 2:
		return fmt.Errorf("the table needs reader version 2 (column mapping), which is not supported")
	case p.MinReaderVersion > 3:
		return fmt.Errorf("the table needs reader version %d; this build knows 1", p.MinReaderVersion)
	case p.MinReaderVersion == 3 && len(p.ReaderFeatures) > 0:
		return fmt.Errorf("the table needs the reader feature %s, which is not supported", names(p.ReaderFeatures))
	case len(m.PartitionColumns) > 0:
		return fmt.Errorf("the table is partitioned by %s, which is not supported", strings.Join(m.PartitionColumns, ", "))
	case m.Format.Provider != "parquet":
		return fmt.Errorf("the table's files are %q, and only parquet is supported", m.Format.Provider)
	}
	if mode := m.Configuration["delta.columnMapping.mode"]; mode != "" && mode != "none" {
		return fmt.Errorf("the table uses column mapping (delta.columnMapping.mode = %s), which is not supported", mode)
	}
	return nil
}

// checkWritable says what keeps this package from appending to a table: what a
// writer would have to honour and this one does not.
func checkWritable(p *protocol, m *tableMeta, row *column) error {
	if err := checkReadable(p, m); err != nil {
		return err
	}
	if err := checkWriterVersion(p); err != nil {
		return err
	}
	if err := checkProperties(m.Configuration); err != nil {
		return err
	}
	return checkColumnMetadata(row)
}

// writerFeatures are those that an append of whole files honours by itself or
// that checkColumnMetadata makes sure are not in use.
func writerFeature(name string) bool { return name == "appendOnly" || name == "invariants" }

func checkWriterVersion(p *protocol) error {
	if p.MinWriterVersion <= 2 {
		return nil
	}
	if p.MinWriterVersion == 7 {
		missing := slices.DeleteFunc(slices.Clone(p.WriterFeatures), writerFeature)
		if len(missing) > 0 {
			return fmt.Errorf("the table needs the writer feature %s, which is not supported", names(missing))
		}
		return nil
	}
	brings := map[int]string{
		3: "check constraints", 4: "change data feed and generated columns",
		5: "column mapping", 6: "identity columns",
	}[p.MinWriterVersion]
	if brings == "" {
		return fmt.Errorf("the table needs writer version %d; this build knows 2, and 7 with named features", p.MinWriterVersion)
	}
	return fmt.Errorf("the table needs writer version %d (%s), which is not supported", p.MinWriterVersion, brings)
}

func names(features []string) string {
	sorted := slices.Sorted(slices.Values(features))
	return strings.Join(sorted, ", ")
}

// checkProperties refuses table properties that ask something of a writer.
func checkProperties(configuration map[string]string) error {
	keys := make([]string, 0, len(configuration))
	for k := range configuration {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if err := checkProperty(k, configuration[k]); err != nil {
			return err
		}
	}
	return nil
}

func checkProperty(key, value string) error {
	if strings.HasPrefix(key, "delta.constraints.") {
		return fmt.Errorf("the table has the constraint %s, which is not supported", strings.TrimPrefix(key, "delta.constraints."))
	}
	switch key {
	case "delta.setTransactionRetentionDuration":
		return fmt.Errorf("the table has %s = %s: transaction identifiers that expire cannot carry exactly-once writes; remove the property", key, value)
	case "delta.enableChangeDataFeed", "delta.enableDeletionVectors", "delta.enableRowTracking",
		"delta.enableInCommitTimestamps", "delta.enableIcebergCompatV1", "delta.enableIcebergCompatV2":
		if strings.EqualFold(value, "true") {
			return fmt.Errorf("the table has %s = %s, which is not supported", key, value)
		}
	}
	return nil
}

// checkColumnMetadata refuses columns whose values a writer must check or
// compute.
func checkColumnMetadata(c *column) error {
	keys := make([]string, 0, len(c.metadata))
	for k := range c.metadata {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		if what := columnDuty(k); what != "" {
			return fmt.Errorf("column %s has %s (%s), which is not supported", c.path, what, k)
		}
	}
	for _, child := range c.children {
		if err := checkColumnMetadata(child); err != nil {
			return err
		}
	}
	return nil
}

// columnDuty names what a key in a column's metadata asks of a writer.
func columnDuty(key string) string {
	switch {
	case key == "delta.invariants":
		return "an invariant"
	case key == "delta.generationExpression":
		return "a generation expression"
	case key == "CURRENT_DEFAULT":
		return "a default value"
	case strings.HasPrefix(key, "delta.identity."):
		return "identity values"
	case strings.HasPrefix(key, "delta.columnMapping."):
		return "a column mapping"
	}
	return ""
}
