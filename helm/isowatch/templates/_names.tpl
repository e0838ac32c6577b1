{{- define "isowatch.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* 52 characters leave room for what StatefulSets append. */}}
{{- define "isowatch.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "isowatch.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods: never changes, since claims and sets cannot. */}}
{{- define "isowatch.selector" -}}
app.kubernetes.io/name: {{ include "isowatch.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "isowatch.labels" -}}
{{ include "isowatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "isowatch.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "isowatch.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "isowatch.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "isowatch.scheme" -}}
{{- ternary "HTTPS" "HTTP" .Values.http.tls -}}
{{- end -}}

{{/* Where a shard's pages are below the host of the Ingress: each shard is below its number. */}}
{{- define "isowatch.path" -}}
{{- $root := index . 0 -}}
{{- $path := trimSuffix "/" $root.Values.ingress.path -}}
{{- if $root.Values.shards -}}{{- printf "%s/%d" $path (index . 1) -}}{{- else -}}{{- default "/" $path -}}{{- end -}}
{{- end -}}

{{- define "isowatch.url" -}}
{{- $root := index . 0 -}}
{{- printf "%s://%s%s" (ternary "https" "http" (ne $root.Values.ingress.tlsSecret "")) (required "ingress.host: which host are the pages at?" $root.Values.ingress.host) (include "isowatch.path" .) -}}
{{- end -}}

{{/* Whether pods form a group. */}}
{{- define "isowatch.grouped" -}}
{{- if .Values.group.name -}}
{{- if .Values.shards -}}{{- fail "shards and group: the members of a group share the inputs of config by themselves. Leave one of the two out." -}}{{- end -}}
{{- if not .Values.group.state -}}{{- fail "group.state: where does the group keep its state?" -}}{{- end -}}
yes
{{- end -}}
{{- end -}}

{{/* What monitor config check refuses and no schema can say: names that are given twice, and what config and shards say together. */}}
{{- define "isowatch.checked" -}}
{{- $sources := dict -}}
{{- range default (list) .sources -}}
{{- if hasKey $sources (toString .name) -}}{{- fail (printf "config: source %v is named twice" .name) -}}{{- end -}}
{{- $_ := set $sources (toString .name) true -}}
{{- end -}}
{{- $sinks := dict -}}
{{- range default (list) .sinks -}}
{{- with .name -}}
{{- if hasKey $sinks (toString .) -}}{{- fail (printf "config: two sinks are called %v: give each a name" .) -}}{{- end -}}
{{- $_ := set $sinks (toString .) true -}}
{{- end -}}
{{- end -}}
{{- with .http -}}
{{- if ne (empty .user) (and (empty (index . "password-file")) (empty (index . "password-env"))) -}}
{{- fail "config: http: basic auth needs both user and password-file or password-env" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A file of configuration for each pod, named for the pod, or one for all pods of a group. What the chart chooses stands below config and shards. */}}
{{- define "isowatch.files" -}}
{{- $full := include "isowatch.fullname" . -}}
{{- $config := .Values.config -}}
{{- $grouped := include "isowatch.grouped" . -}}
{{- range $i, $over := default (list (dict)) .Values.shards }}
{{ if $grouped }}group.yaml{{ else }}{{ printf "%s-%d.yaml" $full $i }}{{ end }}: |
  {{- $chosen := dict -}}
  {{- if $grouped -}}
  {{- $_ := set $chosen "group" (dict "name" $.Values.group.name "state" $.Values.group.state "lease" $.Values.group.lease) -}}
  {{- else -}}
  {{- with $.Values.selfTest -}}{{- $_ := set $chosen "self-test" . -}}{{- end -}}
  {{- end -}}
  {{- if $.Values.ingress.enabled -}}{{- $_ := set $chosen "http" (dict "external-url" (include "isowatch.url" (list $ $i))) -}}{{- end -}}
  {{- $whole := mergeOverwrite $chosen (deepCopy $config) (deepCopy $over) -}}
  {{- include "isowatch.checked" $whole -}}
  {{- toYaml $whole | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The limit in bytes, as Kubernetes writes quantities. */}}
{{- define "isowatch.bytes" -}}
{{- $q := toString . -}}
{{- $units := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 -}}
{{- $unit := regexFind "[A-Za-z]+$" $q -}}
{{- $n := regexFind "^[0-9.]+" $q | float64 -}}
{{- if $unit -}}
{{- if not (hasKey $units $unit) -}}{{- fail (printf "resources.limits.memory: %q has a unit that is none of Ki, Mi, Gi, Ti, k, M, G, T" $q) -}}{{- end -}}
{{- mulf $n (get $units $unit) | int64 -}}
{{- else -}}
{{- int64 $n -}}
{{- end -}}
{{- end -}}
