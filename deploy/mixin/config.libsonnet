{
  _config+:: {
    // Records that are at fault, and what could not be checked: findings, but no anomalies of a database.
    noAnomalies: ['horizon', 'gap', 'unattributed-read', 'contradictory-record', 'session-not-sequential', 'weaker-than-expected'],

    // How long IsowatchAnomaly fires after the last finding. It is shorter than "hold" of the sink
    // alertmanager (20m): the rule ends before the sink's alert, which inhibits it.
    anomalyWindow: '15m',

    // How many anomalies in a million transactions are no reason to act, for the alerts on budgets.
    anomaliesPerMillion: 1,

    // The groups of findings, behind the address of a monitor's pages.
    findingsPath: '/findings',

    // Pages of the alerts, by their names.
    runbooks: 'https://github.com/isowatch/isowatch/blob/main/docs/runbooks/',

    dashboard: { uid: 'isowatch', title: 'Isowatch', tags: ['isowatch', 'isolation'] },
  },
}
