// Alerts of a monitor: what it finds, and whether it still sees. Each has a runbook of its name in
// docs/runbooks/. deploy/prometheus/isowatch.test.yml tests what is rendered (promtool test rules).
{
  local c = $._config,
  local found(labels) = 'isowatch_findings_total{%s, anomaly!~"%s"}' % [labels, std.join('|', c.noAnomalies)],

  // Who fires: only the labels that an alert has. A pod is known by its name, since its address changes.
  local who = std.join('', [
    '{{ with $labels.%s }}{{ $who = printf "%%s%s=%%q," $who . }}{{ end }}' % [l, l]
    for l in ['job', 'namespace', 'pod', 'instance']
  ]),
  // Where people reach the pages of that monitor: what it says itself, also when it does not answer now.
  local page(path) =
    '{{ $who := "" }}' + who +
    '{{ $at := "" }}{{ with $labels.instance }}{{ $at = printf "http://%s" . }}{{ end }}' +
    '{{ range query (printf "last_over_time(isowatch_pages_info{%s}[1d])" $who) }}{{ $at = .Labels.url }}{{ end }}' +
    '{{ with $at }}{{ . }}' + path + '{{ end }}',
  local sourcePath = c.findingsPath + '?source={{ urlquery $labels.source }}',
  local anomalyPath = sourcePath + '&anomaly={{ urlquery $labels.anomaly }}',

  local alert(name, expr, severity, summary, description, wait=null, path='/') = {
    alert: name,
    expr: expr,
    [if wait != null then 'for']: wait,
    labels: { severity: severity },
    annotations: {
      summary: summary,
      description: description,
      runbook_url: c.runbooks + name + '.md',
      page_url: page(path),
    },
  },

  // How many anomalies that the level forbids there are in a million transactions, in the time.
  local perMillion(time) =
    |||
      1e6 * sum by (job, namespace, pod, instance, source) (increase(%(found)s[%(time)s]))
        / (sum by (job, namespace, pod, instance, source) (increase(isowatch_transactions_total{status="committed"}[%(time)s])) > 0)
    ||| % { found: found('expected="false"'), time: time },
  // The budget of 30 days is spent factor times as fast as it may be, in the long time and also in the short
  // one: so the alert ends soon after the anomalies do (Google, The Site Reliability Workbook, chapter 5).
  local burns(factor, long, short) =
    |||
      (
        %(long)s  > %(limit)g
      )
      and
      (
        %(short)s  > %(limit)g
      )
    ||| % { limit: factor * c.anomaliesPerMillion, long: indent(perMillion(long)), short: indent(perMillion(short)) },
  // What is gone, and known by name: a pod, a target, a group.
  local gone =
    |||
      (
        max by (job, namespace, pod) (last_over_time(isowatch_build_info{pod=~".+-[0-9]{1,3}"}[1d]))
        unless
        max by (job, namespace, pod) (isowatch_build_info)
        unless on (job, namespace, pod)
        last_over_time(isowatch_group_units[1d])
      )
      or
      (
        max by (job, namespace, pod, instance) (up{pod!~".+-[0-9]{1,3}"} == 0)
        and on (job, instance)
        last_over_time(isowatch_build_info[1d])
        unless on (job, instance)
        last_over_time(isowatch_group_units[1d])
      )
      or
      (
        max by (job, namespace) (last_over_time(isowatch_group_units[1d]))
        unless
        max by (job, namespace) (isowatch_group_units)
      )
    |||,
  local indent(text) = std.strReplace(std.rstripChars(text, '\n'), '\n', '\n  ') + '\n',

  prometheusAlerts+:: {
    groups+: [
      {
        name: 'isowatch',
        rules: [
          // Fires when a count grows. It also fires when a series is new, and begins above the counts
          // that the job's monitors had within a day. So a restart or a new address does not fire. The counts
          // of a unit move with it, so a member of a group is compared with all members.
          alert(
            'IsowatchAnomaly',
            |||
              max by (job, namespace, pod, instance, source, anomaly, title) (
                increase(%(found)s[%(window)s]) > 0
                or
                (
                  max by (job, namespace, pod, instance, source, anomaly, title) (%(found)s > 0)
                  unless on (job, namespace, pod, instance, source, anomaly)
                  max by (job, namespace, pod, instance, source, anomaly) (%(found)s offset 10m)
                )
                > on (job, namespace, pod, source, anomaly) group_left ()
                (
                  max by (job, namespace, pod, source, anomaly) (
                    max by (job, namespace, pod, source, anomaly) (max_over_time(%(found)s[1d:5m] offset 10m))
                    or label_replace(
                      (
                        0 * max by (job, namespace, pod, source, anomaly) (%(found)s)
                        and on (job, namespace, pod) isowatch_group_lease_up
                      )
                      + on (job, namespace, source, anomaly) group_left ()
                      max by (job, namespace, source, anomaly) (max_over_time(%(found)s[1d:5m] offset 10m)),
                      "of", "group", "", ""
                    )
                  )
                  or
                  0 * max by (job, namespace, pod, source, anomaly) (%(found)s)
                )
              )
            ||| % { found: found('expected="false"'), window: c.anomalyWindow },
            'critical',
            '{{ $labels.source }}: {{ with $labels.title }}{{ . }} ({{ $labels.anomaly }}){{ else }}{{ $labels.anomaly }}{{ end }}, which its isolation level forbids',
            'The database that source {{ $labels.source }} watches has returned results that contradict the expected level. Data that clients read or wrote may be wrong. The finding shows which: see monitor findings, or the page of the monitor. What happened, the usual causes and what to do: monitor explain {{ $labels.anomaly }}, or https://github.com/isowatch/isowatch/blob/main/docs/anomalies/{{ reReplaceAll "-(process|realtime)$" "" $labels.anomaly }}.md',
            path=anomalyPath,
          ),
          alert(
            'IsowatchContradictoryRecord',
            |||
              label_replace(increase(isowatch_contradictory_records_total[15m]) > 0, "anomaly", "contradictory-record", "", "")
              or increase(isowatch_findings_total{expected="false", anomaly="session-not-sequential"}[15m]) > 0
            |||,
            'warning',
            '{{ $labels.source }}: records contradict each other ({{ $labels.anomaly }})',
            'Clients send records that cannot all be true. Verdicts about {{ $labels.source }} are only as good as its records.',
            path=anomalyPath,
          ),
          alert(
            'IsowatchWeakerThanExpected',
            'increase(isowatch_weaker_than_expected_total[15m]) > 0',
            'warning',
            '{{ $labels.source }}: clients ask for {{ $labels.asked }}, and {{ $labels.expected }} is expected',
            'The database gives them what they ask for. Anomalies that this level allows are not alerted.',
            path=sourcePath + '&anomaly=weaker-than-expected',
          ),
          // Fires in four cases. A pod of a StatefulSet is gone: it is known by its name, since its address
          // changes. Another target was a monitor within a day, and does not answer. All members of a group are
          // gone: a single one may leave, since others take its units. No monitor is left, and none was known
          // by name: one that is gone fires once.
          alert(
            'IsowatchDown',
            |||
              %(gone)s
              or
              (
                absent(isowatch_build_info)
                unless on ()
                (
                  %(again)s
                )
              )
            ||| % { gone: std.rstripChars(gone, '\n'), again: std.rstripChars(std.strReplace(gone, '\n', '\n    '), ' \n') },
            'critical',
            '{{ with $labels.pod }}Monitor {{ . }} is not scraped{{ else }}{{ with $labels.instance }}Monitor {{ . }} is not scraped{{ else }}{{ with $labels.job }}No member of the group is scraped, job {{ . }}{{ else }}No monitor is scraped{{ end }}{{ end }}{{ end }}',
            'Prometheus has had no metrics of it for 5 minutes. Either nothing is watched, or its alerts reach nobody.',
            wait='5m',
          ),
          // A member that is a target and does not answer. One that an autoscaler took away is none any more.
          alert(
            'IsowatchGroupMemberDown',
            |||
              (
                max by (job, namespace, pod, instance) (up{pod!=""} == 0)
                and on (job, namespace, pod)
                last_over_time(isowatch_group_units[1d])
              )
              or
              (
                max by (job, namespace, pod, instance) (up{pod=""} == 0)
                and on (job, instance)
                last_over_time(isowatch_group_units[1d])
              )
            |||,
            'warning',
            'Member {{ with $labels.pod }}{{ . }}{{ else }}{{ $labels.instance }}{{ end }} of the group is not scraped',
            'Prometheus has had no metrics of it for 5 minutes. Other members take its units, and the group has less room for load.',
            wait='5m',
          ),
          alert(
            'IsowatchGroupOtherSettings',
            'max by (job, namespace, pod, instance) (isowatch_group_other_settings) > 0',
            'warning',
            'Member {{ with $labels.pod }}{{ . }}{{ else }}{{ $labels.instance }}{{ end }} has other settings than its group',
            'It takes no unit while members with other settings live. The others watch all units. Its log and its page name the settings that differ.',
            wait='5m',
          ),
          alert(
            'IsowatchStalled',
            'time() - isowatch_last_tick_timestamp_seconds > 60',
            'critical',
            '{{ $labels.instance }} has committed nothing for {{ $value | humanizeDuration }}',
            'A monitor commits every second, also without input. This one stands still.',
            wait='1m',
          ),
          // The monitor plants one every 2 minutes or more often. The metric is 0 before the first success,
          // so a self-test that never succeeds fires too.
          alert(
            'IsowatchSelfTest',
            'time() - isowatch_self_test_last_success_timestamp_seconds > 300',
            'critical',
            '{{ $labels.instance }} does not find what it plants itself',
            'The monitor plants an anomaly regularly. For 5 minutes it has not found it. A real anomaly would not be reported either.',
            wait='5m',
          ),
          alert(
            'IsowatchInputDown',
            'isowatch_source_up == 0',
            'critical',
            '{{ $labels.input }} cannot be read',
            'The monitor has not been able to read {{ $labels.input }} for 2 minutes. Nothing is lost as long as the input keeps its records.',
            wait='2m',
          ),
          alert(
            'IsowatchNoInput',
            'sum by (job, instance) (rate(isowatch_records_total[15m])) == 0',
            'warning',
            '{{ $labels.instance }} has had no record for 15 minutes',
            'Either no client runs transactions, or the clients no longer report them.',
            wait='15m',
          ),
          alert(
            'IsowatchLag',
            'isowatch_behind_seconds > 300',
            'warning',
            '{{ $labels.source }} is checked {{ $value | humanizeDuration }} behind',
            'The event time up to which {{ $labels.source }} is checked is more than 5 minutes behind the clock, or behind the latest record.',
            wait='5m',
          ),
          alert(
            'IsowatchWaiting',
            'isowatch_waiting_seconds > 60',
            'warning',
            '{{ $labels.instance }} waits for partitions that have been silent for {{ $value | humanizeDuration }}',
            'Checking stands still until they are back. Findings that could still change wait too.',
            wait='1m',
          ),
          alert(
            'IsowatchHorizon',
            'increase(isowatch_horizon_findings_total[15m]) > 0',
            'warning',
            '{{ $labels.source }}: something came too late to be compared',
            'A transaction depends on one that the monitor had already forgotten. Each such finding names the command that decides it.',
            path=sourcePath + '&kind=horizon',
          ),
          // Compares the share of reads that were decided in the last hour with the day before. A
          // contract under which few reads can be decided does not fire, since its share is steady.
          alert(
            'IsowatchUnknown',
            |||
              (
                1 - clamp_min(sum by (job, namespace, pod, instance, source) (delta(isowatch_undecided_reads[1h])), 0)
                  / sum by (job, namespace, pod, instance, source) (increase(isowatch_reads_total[1h]))
              )
              < 0.8 *
              (
                1 - clamp_min(sum by (job, namespace, pod, instance, source) (delta(isowatch_undecided_reads[1d] offset 1h)), 0)
                  / sum by (job, namespace, pod, instance, source) (increase(isowatch_reads_total[1d] offset 1h))
              )
              and
              sum by (job, namespace, pod, instance, source) (increase(isowatch_reads_total[1h])) > 1000
            |||,
            'info',
            '{{ $labels.source }}: only {{ $value | humanizePercentage }} of its reads can be decided',
            'A day ago it was more. Reads of {{ $labels.source }} that are not decided remain unchecked. isowatch_undecided_reads shows the causes.',
            wait='15m',
          ),
          alert(
            'IsowatchRecordsMissing',
            'increase(isowatch_gaps_total[15m]) > 0',
            'warning',
            '{{ $labels.source }}: {{ $value | humanize }} records are missing',
            'Sequence numbers or broker positions show that records never arrived.',
            path=sourcePath + '&kind=gap',
          ),
          alert(
            'IsowatchDeadLetters',
            'increase(isowatch_dead_letters_total[15m]) > 0',
            'warning',
            '{{ $labels.source }}: {{ $value | humanize }} records could not be decoded',
            'They are kept with position and reason. Their transactions are not checked.',
          ),
          alert(
            'IsowatchWindowShrinks',
            'increase(isowatch_frozen_transactions_total[15m]) > 0',
            'warning',
            '{{ $labels.source }}: transactions leave the window early',
            'More transactions are in the window than live-cap, or memory, allows. Nothing false is reported, but there are more horizon findings.',
          ),
          alert(
            'IsowatchClocks',
            'increase(isowatch_clamped_records_total[15m]) > 0',
            'warning',
            '{{ $labels.source }}: the clocks of clients are ahead of the monitor\'s',
            'The time of arrival counts instead of theirs. Levels with real time are not decided while clocks differ by more than clock-drift.',
            wait='15m',
          ),
          alert(
            'IsowatchSinkFailing',
            'increase(isowatch_alert_notifications_failed_total[10m]) > 0',
            'critical',
            'Findings do not reach {{ $labels.sink }}',
            'Deliveries to {{ $labels.sink }} have failed for 10 minutes. The findings are kept, and sent again.',
            wait='10m',
          ),
          alert(
            'IsowatchSinkRejects',
            'increase(isowatch_alert_findings_rejected_total[15m]) > 0',
            'warning',
            '{{ $labels.sink }} rejects findings',
            'The receiver answered that it will never accept them. They are still in the store.',
          ),
          alert(
            'IsowatchOutboxDropped',
            'increase(isowatch_outbox_dropped_total[15m]) > 0',
            'critical',
            'Findings were dropped from a full outbox',
            'A sink took nothing for so long that the outbox was full. The findings are still in the store, but that sink will not get them.',
          ),
          alert(
            'IsowatchUnverified',
            'increase(isowatch_unverified_witnesses_total[1h]) > 0',
            'warning',
            '{{ $labels.source }}: the verifier did not accept a suspected finding',
            'Nothing was reported. It is a bug of the monitor: please report it.',
          ),
          alert(
            'IsowatchSourceStopped',
            'isowatch_source_stopped == 1',
            'critical',
            '{{ $labels.source }} is not checked any more',
            'Checking its records failed three times within an hour, or fails even without them. It is a bug of the monitor: please report it. The records of {{ $labels.source }} are passed over until the next start.',
          ),
          alert(
            'IsowatchQuarantined',
            'increase(isowatch_quarantined_records_total[1h]) > 0',
            'warning',
            '{{ $labels.source }}: a record was taken out, since checking it failed',
            'It is a bug of the monitor: please report it. The record is a dead letter, and counts as missing.',
          ),
          // The service ends half a minute after its store has failed, so the metric is seen once or twice.
          alert(
            'IsowatchStoreFailed',
            'max_over_time(isowatch_store_failed[10m]) == 1',
            'critical',
            '{{ $labels.instance }}: the store has failed',
            'The data folder was removed, replaced or made read-only, or its disk fails. Nothing is committed any more, and the service ends.',
          ),
          alert(
            'IsowatchIntakePaused',
            'isowatch_intake_paused == 1',
            'critical',
            '{{ $labels.instance }} reads no input: the disk is full',
            'The disk of the data folder has less free space than min-free. Nothing is lost while the inputs keep their records. Reading goes on by itself when there is room.',
            wait='1m',
          ),
          alert(
            'IsowatchMemoryShort',
            'isowatch_memory_short == 1',
            'warning',
            '{{ $labels.instance }} is short of memory',
            'The memory (--memory) is full. Fewer transactions are kept, so fewer dependencies can be placed.',
            wait='5m',
          ),
          alert(
            'IsowatchReloadRefused',
            'isowatch_config_last_reload_successful == 0',
            'warning',
            '{{ $labels.instance }} refused its new configuration',
            'It keeps its earlier configuration.',
            wait='1m',
          ),
          alert(
            'IsowatchStoreUpkeep',
            'increase(isowatch_store_upkeep_failures_total[15m]) > 0',
            'warning',
            '{{ $labels.instance }}: the store\'s upkeep fails',
            'Disk space is not freed, or syncs fail. The disk may be full or broken.',
            wait='15m',
          ),
          // Each member tells of the units that no other living member has. The one that watches knows best.
          alert(
            'IsowatchGroupUnwatched',
            'min by (job, namespace, unit) (isowatch_group_unwatched_seconds) > 60',
            'critical',
            'Nobody has watched {{ $labels.unit }} for {{ $value | humanizeDuration }}',
            'No member of the group has the unit, or its owner cannot start it. Nothing is lost while the broker keeps the records.',
          ),
          alert(
            'IsowatchGroupSplitSources',
            'max by (job, namespace) (isowatch_group_split_sources) > 0',
            'warning',
            '{{ $value | humanize }} sources are in two units of the group',
            'All records of a source belong into one unit. The levels of these sources are unknown. monitor group names them.',
            wait='1m',
          ),
          alert(
            'IsowatchGroupHoldsFindings',
            'max by (job, namespace, pod, instance) (isowatch_group_held_findings) > 0\n'
            + 'or max by (job, namespace, pod, instance) (1 - isowatch_group_state_up) > 0\n'
            + 'or max by (job, namespace, pod, instance) (1 - isowatch_group_lease_up) > 0',
            'critical',
            'A member of the group holds its findings back',
            'The store of the group cannot be read or written: it is away, it is slow, or a right is missing. Watching goes on. Nothing of this member is delivered until the store has the state.',
            wait='2m',
          ),
          // Many anomalies, in proportion to the load: for who lets IsowatchAnomaly wake nobody. Without
          // transactions there is no rate, and nothing fires.
          alert(
            'IsowatchBudgetBurnsFast',
            burns(14.4, '1h', '5m'),
            'critical',
            '{{ $labels.source }}: {{ $value | humanize }} anomalies in a million transactions',
            'In the last hour source {{ $labels.source }} had %(factor)g times as many anomalies as its budget allows: %(budget)g in a million transactions. At this rate the budget of 30 days is spent within 50 hours.' % { factor: 14.4, budget: c.anomaliesPerMillion },
            path=sourcePath,
          ),
          alert(
            'IsowatchBudgetBurns',
            burns(1, '3d', '6h'),
            'warning',
            '{{ $labels.source }}: {{ $value | humanize }} anomalies in a million transactions',
            'In the last three days source {{ $labels.source }} had more anomalies than its budget allows: %g in a million transactions.' % c.anomaliesPerMillion,
            path=sourcePath,
          ),
        ],
      },
    ],
  },
}
