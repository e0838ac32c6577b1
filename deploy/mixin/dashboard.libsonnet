// The dashboard. Every query of it runs in a test on a real Prometheus (deploy/test, TestPanels).
{
  local c = $._config,
  local at = 'job=~"$job", instance=~"$instance"',
  local of = at + ', source=~"$source"',
  local anomalies = 'anomaly!~"%s"' % std.join('|', c.noAnomalies),
  local datasource = { type: 'prometheus', uid: '${datasource}' },

  local query(expr, legend, instant=false) = {
    datasource: datasource,
    expr: expr,
    legendFormat: legend,
    instant: instant,
    range: !instant,
    [if instant then 'format']: 'table',
  },
  // Each row with where the pages of its monitor are, and also rows of monitors that do not say so.
  local withPages(expr) = '(%s) * on (job, instance) group_left (url) isowatch_pages_info{%s} or (%s) unless on (job, instance) isowatch_pages_info{%s}' % [expr, at, expr, at],

  local panel(type, title, description, targets, w, h=8) = {
    type: type,
    title: title,
    description: description,
    datasource: datasource,
    gridPos: { w: w, h: h },
    targets: [targets[i] { refId: std.char(65 + i) } for i in std.range(0, std.length(targets) - 1)],
    fieldConfig: { defaults: {}, overrides: [] },
    options: if type == 'table' then { frameIndex: 0, showHeader: true } else {},
  },
  local graph(title, description, targets, unit, w=8, stack=false, bars=false, min=0) = panel('timeseries', title, description, targets, w) {
    fieldConfig+: {
      defaults+: {
        unit: unit,
        [if min != null then 'min']: min,
        custom: {
          drawStyle: if bars then 'bars' else 'line',
          fillOpacity: if stack || bars then 40 else 0,
          stacking: { mode: if stack then 'normal' else 'none', group: 'A' },
          showPoints: 'never',
        },
      },
    },
    options+: { legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] }, tooltip: { mode: 'multi', sort: 'desc' } },
  },
  local states(title, description, targets, values, w, h=8) = panel('state-timeline', title, description, targets, w, h) {
    fieldConfig+: {
      defaults+: {
        mappings: [{
          type: 'value',
          options: { [v.value]: { text: v.text, color: v.color, index: std.parseInt(v.value) } for v in values },
        }],
        color: { mode: 'thresholds' },
        thresholds: { mode: 'absolute', steps: [{ color: 'text', value: null }] },
      },
    },
    options+: { showValue: 'never', rowHeight: 0.9, mergeValues: true, legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] }, tooltip: { mode: 'single', sort: 'none' } },
  },
  local stat(title, description, expr, unit='none', bad=null, w=4) = panel('stat', title, description, [query(expr, '')], w, 4) {
    fieldConfig+: {
      defaults+: {
        unit: unit,
        color: { mode: 'thresholds' },
        thresholds: { mode: 'absolute', steps: [{ color: 'green', value: null }] + (if bad == null then [] else [{ color: 'red', value: bad }]) },
      },
    },
    options+: { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area', justifyMode: 'auto', textMode: 'auto', wideLayout: true, showPercentChange: false, percentChangeColorMode: 'standard', orientation: 'auto' },
  },
  local row(title) = { type: 'row', title: title, collapsed: false, gridPos: { w: 24, h: 1 }, panels: [] },

  local panels = [
    row('What is found'),
    stat('Levels violated', 'Sources and levels whose verdict is violated.', 'count(isowatch_verdict{%s} == 2) or 0 * count(isowatch_verdict{%s})' % [of, of], bad=1),
    stat('Anomalies in the time shown', 'Those that the expected level forbids.', 'sum(increase(isowatch_findings_total{%s, expected="false", %s}[$__range]))' % [of, anomalies], bad=1),
    stat('Transactions a second', 'Records of transactions, of all outcomes.', 'sum(rate(isowatch_transactions_total{%s}[$__rate_interval]))' % of, 'short'),
    stat('Furthest behind', 'How far a source is checked behind the clock. One without new records is not behind.', 'max(isowatch_behind_seconds{%s})' % of, 's', bad=300),
    stat('Inputs down', 'Inputs that cannot be read.', 'count(isowatch_source_up{%s} == 0) or 0 * count(isowatch_source_up{%s})' % [at, at], bad=1),
    stat('Failed deliveries in the time shown', 'Attempts to deliver findings to sinks. Each is tried again.', 'sum(increase(isowatch_alert_notifications_failed_total{%s}[$__range]))' % at, bad=1),
    states(
      'Verdicts by source and level',
      'Over all that was seen. No violation: only the contract of the source leaves it open. Unknown: something else does.',
      [query('2 * max by (source, level) (isowatch_verdict{%s}) - max by (source, level) (isowatch_open_by_contract{%s})' % [of, of], '{{source}} {{level}}')],
      [{ value: '0', text: 'holds', color: 'green' }, { value: '1', text: 'no violation', color: 'light-green' }, { value: '2', text: 'unknown', color: 'yellow' }, { value: '4', text: 'violated', color: 'red' }],
      w=12, h=10
    ),
    panel('table', 'Findings', 'By anomaly, all that are certain. Each links to its list on the pages of the monitor.', [
      query(withPages('sum by (job, instance, source, anomaly, title, expected) (isowatch_findings_total{%s}) > 0' % of), '', instant=true),
    ], w=12, h=10) {
      transformations: [{
        id: 'organize',
        options: {
          excludeByName: { Time: true, job: true },
          indexByName: { source: 0, title: 1, anomaly: 2, expected: 3, Value: 4, instance: 5, url: 6 },
          renameByName: { Value: 'findings', title: 'in words', expected: 'allowed', url: 'page' },
        },
      }],
      fieldConfig+: { overrides: [{
        matcher: { id: 'byName', options: 'page' },
        properties: [{ id: 'links', value: [{
          title: 'The findings',
          url: '${__data.fields.page}' + c.findingsPath + '?source=${__data.fields.source}&anomaly=${__data.fields.anomaly}',
          targetBlank: true,
        }] }],
      }] },
    },
    graph('Findings per anomaly', 'New findings. "Allowed" ones raise no alert: the expected level permits them. Uncertain ones raise none either: something unknown may explain them.', [
      query('sum by (source, anomaly) (increase(isowatch_findings_total{%s, expected="false"}[$__rate_interval])) > 0' % of, '{{source}} {{anomaly}}'),
      query('sum by (source, anomaly) (increase(isowatch_findings_total{%s, expected="true"}[$__rate_interval])) > 0' % of, '{{source}} {{anomaly}}, allowed'),
      query('sum by (source) (increase(isowatch_findings_uncertain_total{%s}[$__rate_interval]))' % of, '{{source}}, uncertain'),
    ], 'none', w=12, stack=true, bars=true),
    graph('Anomalies in a million transactions', 'In the hour before. The budget of the alerts is a line.', [
      query('1e6 * sum by (source) (increase(isowatch_findings_total{%s, expected="false", %s}[1h])) / (sum by (source) (increase(isowatch_transactions_total{%s, status="committed"}[1h])) > 0)' % [of, anomalies, of], '{{source}}, forbidden'),
      query('1e6 * sum by (source) (increase(isowatch_findings_total{%s, expected="true", %s}[1h])) / (sum by (source) (increase(isowatch_transactions_total{%s, status="committed"}[1h])) > 0)' % [of, anomalies, of], '{{source}}, allowed'),
      query('vector(%g)' % c.anomaliesPerMillion, 'budget'),
    ], 'none', w=12),

    row('What is seen'),
    graph('Transactions', 'By the status of their records.', [query('sum by (source, status) (rate(isowatch_transactions_total{%s}[$__rate_interval]))' % of, '{{source}} {{status}}')], 'ops'),
    graph('Lag', 'How far a source is checked behind the clock. One without new records is not behind. Waiting: how long a partition has been silent.', [
      query('max by (source) (isowatch_behind_seconds{%s})' % of, '{{source}}'),
      query('max by (instance) (isowatch_waiting_seconds{%s})' % at, '{{instance}} waits'),
    ], 's'),
    graph('Reads that are decided', 'Their share, at each level. The rest stays unchecked.', [query('min by (source, level) (isowatch_decided_ratio{%s})' % of, '{{source}} {{level}}')], 'percentunit') {
      fieldConfig+: { defaults+: { max: 1 } },
    },
    graph('Why reads are not decided', 'At the expected level, by cause. docs/metrics.md says what each means.', [query('sum by (source, cause) (isowatch_undecided_reads{%s})' % of, '{{source}} {{cause}}')], 'none', stack=true),
    graph('What the records do not show', 'Each keeps a verdict from being ok. Late records alone do not.', [
      query('sum by (source) (increase(%s{%s}[$__rate_interval]))' % [m.metric, of], '{{source}} ' + m.text)
      for m in [
        { metric: 'isowatch_gaps_total', text: 'missing' },
        { metric: 'isowatch_dead_letters_total', text: 'not decoded' },
        { metric: 'isowatch_horizon_findings_total', text: 'beyond the window' },
        { metric: 'isowatch_late_records_total', text: 'late' },
      ]
    ], 'none', bars=true),
    graph('Findings that wait', 'Not reported yet: a record on its way could take them back.', [query('sum by (source) (isowatch_findings_waiting{%s})' % of, '{{source}}')], 'none'),
    states(
      'Inputs', 'Whether each can be read.', [query('min by (instance, input) (isowatch_source_up{%s})' % at, '{{instance}} {{input}}')],
      [{ value: '0', text: 'down', color: 'red' }, { value: '1', text: 'up', color: 'green' }], w=12
    ),
    graph('Sinks', 'Failed attempts to deliver, and findings that wait for a sink. Each attempt is tried again.', [
      query('sum by (instance, sink) (rate(isowatch_alert_notifications_failed_total{%s}[$__rate_interval]))' % at, '{{instance}} {{sink}} failed a second'),
      query('sum by (instance) (isowatch_outbox_findings{%s})' % at, '{{instance}} not delivered'),
    ], 'none', w=12),

    row('The monitors'),
    graph('Memory', 'By part; they add up to what is resident. The limit is --memory.', [
      query('sum by (part) (isowatch_memory_bytes{%s})' % at, '{{part}}'),
      query('sum(isowatch_memory_limit_bytes{%s})' % at, 'limit'),
    ], 'bytes', stack=true) {
      fieldConfig+: { overrides: [{
        matcher: { id: 'byName', options: 'limit' },
        properties: [{ id: 'custom.stacking', value: { mode: 'none', group: 'B' } }, { id: 'custom.fillOpacity', value: 0 }, { id: 'color', value: { mode: 'fixed', fixedColor: 'red' } }],
      }] },
    },
    graph('Seconds of a step', 'How long its stages take: 99 of 100 steps, and the median.', [
      query('histogram_quantile(0.99, sum by (le, stage) (rate(isowatch_step_seconds_bucket{%s}[$__rate_interval])))' % at, '{{stage}}, 99%'),
      query('histogram_quantile(0.5, sum by (le, stage) (rate(isowatch_step_seconds_bucket{%s}[$__rate_interval])))' % at, '{{stage}}, median'),
    ], 's'),
    graph('Window', 'Transactions in memory, and how many may be.', [
      query('sum by (source) (isowatch_live_transactions{%s})' % of, '{{source}}'),
      query('max by (source) (isowatch_live_cap{%s})' % of, '{{source}} cap'),
    ], 'none'),
    graph('CPU', 'Cores in use.', [query('rate(process_cpu_seconds_total{%s}[$__rate_interval])' % at, '{{instance}}')], 'none'),
    graph('Disk', 'Size of the store, and free space of its disk.', [
      query('sum by (instance) (isowatch_store_tree_bytes{%s} + isowatch_store_value_log_bytes{%s})' % [at, at], '{{instance}} store'),
      query('sum by (instance) (isowatch_disk_free_bytes{%s})' % at, '{{instance}} free'),
    ], 'bytes'),
    panel('table', 'Versions', 'Monitors that run, and where their pages are.', [
      query(withPages('isowatch_build_info{%s}' % at), '', instant=true),
    ], w=8) {
      transformations: [{ id: 'organize', options: {
        excludeByName: { Time: true, Value: true, __name__: true, job: true, goversion: true },
        renameByName: { url: 'page' },
      } }],
    },

    row('A group of monitors'),
    graph('Units', 'How many units each member watches or is about to watch. Free: no living member has them. Empty without a group, as is all of this row.', [
      query('sum by (instance, state) (isowatch_group_units{%s, state!="free"})' % at, '{{instance}} {{state}}'),
      query('max by (job) (isowatch_group_units{%s, state="free"})' % at, 'free'),
    ], 'none', stack=true),
    graph('Units that nobody watches', 'For how long.', [query('min by (unit) (isowatch_group_unwatched_seconds{%s})' % at, '{{unit}}')], 's'),
    graph('Moves of units', 'Gained: it came to this member. Handed: the member gave it away. Lost: its lease was over.', [
      query('sum by (instance, reason) (increase(isowatch_group_moves_total{%s}[$__rate_interval]))' % at, '{{instance}} {{reason}}'),
    ], 'none', bars=true),
    graph('Messages behind the broker', 'Messages of a unit that the broker holds, and that its owner has not read.', [query('max by (unit) (isowatch_group_lag_records{%s})' % at, '{{unit}}')], 'none'),
    graph('Age of the state', 'Time since the state of a unit was written. A successor does again what came since.', [query('max by (unit) (isowatch_group_state_age_seconds{%s})' % at, '{{unit}}')], 's'),
    graph('Findings that wait for the store', 'They leave when the store of the group has the state.', [query('max by (instance) (isowatch_group_held_findings{%s})' % at, '{{instance}}')], 'none'),
    states(
      'Members', 'Whether a member may deliver. It may not while the store of the group does not answer.',
      [query('min by (instance) (isowatch_group_lease_up{%s}) or -2 * max by (instance) (isowatch_group_other_settings{%s} == 1)' % [at, at], '{{instance}}')],
      [{ value: '-2', text: 'other settings', color: 'yellow' }, { value: '0', text: 'holds findings', color: 'red' }, { value: '1', text: 'delivers', color: 'green' }], w=12
    ),
    states(
      'State of units', 'Whether it can be written.',
      [query('min by (unit) (isowatch_group_state_up{%s})' % at, '{{unit}}')],
      [{ value: '0', text: 'cannot be written', color: 'red' }, { value: '1', text: 'written', color: 'green' }], w=12
    ),
  ],

  // Panels stand in lines from the left, each line as high as its first panel.
  local placed = std.foldl(
    function(s, p)
      local w = p.gridPos.w;
      local fits = s.x + w <= 24;
      local x = if fits then s.x else 0;
      local y = if fits then s.y else s.y + s.h;
      s {
        x: x + w,
        y: y,
        h: if x == 0 then p.gridPos.h else s.h,
        panels+: [p { id: std.length(s.panels) + 1, gridPos+: { x: x, y: y } }],
      },
    panels,
    { x: 0, y: 0, h: 0, panels: [] }
  ).panels,

  local variable(name, label, expr) = {
    type: 'query',
    name: name,
    label: label,
    datasource: datasource,
    query: { query: expr, refId: name },
    definition: expr,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  },

  grafanaDashboards+:: {
    'isowatch.json': {
      uid: c.dashboard.uid,
      title: c.dashboard.title,
      tags: c.dashboard.tags,
      schemaVersion: 39,
      editable: true,
      graphTooltip: 1,
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      timezone: 'browser',
      templating: {
        list: [
          { type: 'datasource', name: 'datasource', label: 'Prometheus', query: 'prometheus', refresh: 1 },
          variable('job', 'Job', 'label_values(isowatch_build_info, job)'),
          variable('instance', 'Monitor', 'label_values(isowatch_build_info{job=~"$job"}, instance)'),
          variable('source', 'Source', 'label_values(isowatch_transactions_total{job=~"$job", instance=~"$instance"}, source)'),
        ],
      },
      annotations: { list: [{
        name: 'Alerts',
        datasource: datasource,
        enable: true,
        iconColor: 'red',
        expr: 'ALERTS{alertname=~"Isowatch.*", alertstate="firing"}',
        titleFormat: '{{alertname}}',
        textFormat: '{{source}} {{anomaly}} {{instance}}',
      }] },
      panels: placed,
    },
  },
}
