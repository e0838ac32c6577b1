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

{{/* A file of configuration for each pod, named for the pod. */}}
{{- define "isowatch.files" -}}
{{- $full := include "isowatch.fullname" . -}}
{{- $config := .Values.config -}}
{{- range $i, $over := default (list (dict)) .Values.shards }}
{{ printf "%s-%d.yaml" $full $i }}: |
  {{- mergeOverwrite (deepCopy $config) $over | toYaml | nindent 2 }}
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
