package app

// metric is a row of the table of our metrics, docs/metrics.md.
type metric struct {
	name   string // behind isowatch_
	help   string
	labels []string
}

func metricTable() []metric {
	source := []string{"source"}
	input := []string{"input"}
	return []metric{
		{"findings_total", "Findings by anomaly; expected ones are allowed by the level that the source promises.", []string{"source", "anomaly", "expected"}},
		{"transactions_total", "Transactions taken in, by the outcome that their client knows.", []string{"source", "status"}},
		{"operations_total", "Operations of the transactions taken in.", source},
		{"findings_withdrawn_total", "Findings that were given out and taken back, by cause.", []string{"source", "cause"}},
		{"horizon_findings_total", "Dependencies that reach back beyond the window: a replay decides them.", source},
		{"dead_letters_total", "Records that could not be decoded, counted for every source.", source},
		{"uncheckable_keys_total", "Keys whose version order cannot be known, by blind writes for example.", source},
		{"unchecked_operations_total", "Operations of kinds that give no dependency.", source},
		{"ambiguous_values_total", "Values read that several transactions may have written.", source},
		{"repeating_reads_total", "Reads of keys whose values repeat, so that what they saw is not known.", source},
		{"unattributed_reads_total", "Reads of values that no record wrote.", source},
		{"gaps_total", "Records known to be missing.", source},
		{"duplicates_total", "Records taken in before.", source},
		{"late_records_total", "Records that came after the watermark had passed their end.", source},
		{"clamped_records_total", "Records with times in the future of the monitor, taken as of now.", source},
		{"frozen_transactions_total", "Transactions that left the window early since too many were in it.", source},
		{"left_out_edges_total", "Dependencies that the orders had no room for; no level is said to hold.", source},
		{"left_out_violations_total", "Further violations of violated levels that the verifier did not accept; not reported.", source},
		{"unverified_witnesses_total", "Suspected findings that the verifier did not accept; not reported.", source},
		{"live_cap", "Transactions that may be in the window; lower than configured while memory is short.", source},
		{"findings_waiting", "Findings that are not given out yet, since a record on its way could take them back.", source},
		{"live_transactions", "Transactions in the window.", source},
		{"watermark_timestamp_seconds", "Event time up to which all records are believed to have come; 0 before the first, and where records have no times.", source},
		{"checker_memory_bytes", "Memory that the checker's tables take.", source},
		{"orders", "Orders of transactions that are kept for the watched levels.", source},
		{"tracked_keys", "Keys that the checker remembers in memory.", source},
		{"spilled_records", "Records of keys, sessions and transactions that the checker remembers on disk.", []string{"source", "kind"}},
		{"spilled_records_returned_total", "Records that came back from disk since they were needed.", source},
		{"spill_filter_bytes", "Memory of the filter of what is on disk.", source},
		{"verdict", "Verdict on a level: 0 holds, 1 unknown, 2 violated.", []string{"source", "level"}},
		{"last_tick_timestamp_seconds", "Clock of the latest committed step; it moves without input too.", nil},
		{"open_transactions", "Transactions begun by operation-level records and not ended.", nil},
		{"evicted_transactions_total", "Begun transactions given up before their time, since too many were open.", nil},
		{"waiting_partitions", "Partitions that cannot be read, or of which nothing is heard: the watermark waits for them.", nil},
		{"waiting_seconds", "For how long the longest of them was not heard of.", nil},
		{"spill_reads_total", "Looks into the store for what the filter could not rule out, of this process.", nil},
		{"records_total", "Records taken in by this process.", nil},
		{"records_bytes_total", "Bytes of messages taken in by this process.", nil},
		{"outbox_findings", "Findings kept because some sink was not given them yet.", nil},
		{"outbox_bytes", "Bytes of these findings.", nil},
		{"outbox_dropped_total", "Findings removed from a full outbox before every sink was given them.", nil},
		{"source_up", "Whether an input can be read: 1 or 0.", input},
		{"input_caught_up", "Whether an input was read to its end when it was last looked at: 1 or 0.", input},
		{"input_last_record_timestamp_seconds", "The broker's time of the latest record read; 0 without one.", input},
		{"store_tree_bytes", "Size of the store's tables on disk.", nil},
		{"store_value_log_bytes", "Size of the store's value log on disk.", nil},
		{"store_commits_total", "Commits of this process.", nil},
		{"store_committed_bytes_total", "Bytes committed by this process.", nil},
		{"store_committed_entries_total", "Entries committed by this process.", nil},
		{"store_last_commit_seconds", "Duration of the latest commit.", nil},
		{"store_longest_commit_seconds", "Duration of the longest commit of this process.", nil},
		{"store_syncs_total", "Syncs of the store to disk.", nil},
		{"store_last_sync_seconds", "Duration of the latest sync.", nil},
		{"store_snapshot_generation", "Generation of the current snapshot; 0 before the first.", nil},
		{"store_dead_bytes", "Bytes removed that still take up disk.", nil},
		{"store_upkeep_failures_total", "Failures of the store's upkeep, each retried.", nil},
		{"intake_paused", "Whether no input is taken since the disk is nearly full: 1 or 0.", nil},
		{"disk_free_bytes", "Free space of the data folder's disk.", nil},
		{"memory_short", "Whether caps are lowered since GOMEMLIMIT is near: 1 or 0.", nil},
		{"config_last_reload_successful", "Whether the last reload was taken, 1 before any.", nil},
		{"config_last_reload_success_timestamp_seconds", "When a reload was taken last; 0 before the first.", nil},
		{"stored_bytes", "Bytes of what retention bounds.", []string{"kind"}},
		{"retention_removed_total", "Records removed by retention.", []string{"kind"}},
		{"build_info", "What the program was built from; always 1.", []string{"version", "revision", "goversion"}},
	}
}
