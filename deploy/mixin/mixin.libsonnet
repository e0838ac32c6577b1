// Alerts and a dashboard of Isowatch, in the form of monitoring.mixins.dev. make mixin renders them.
(import 'config.libsonnet') +
(import 'alerts.libsonnet') +
(import 'dashboard.libsonnet')
