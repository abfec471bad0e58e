{{/* The image of all workloads. */}}
{{- define "topolet.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Labels of an object that helm manages; those of the kustomizations beside them. */}}
{{- define "topolet.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Labels by which pods of the agent are selected: those of deploy/observe, since a selector cannot change. */}}
{{- define "topolet.observer" -}}
app.kubernetes.io/name: topolet
app.kubernetes.io/component: observer
{{- end }}

{{- define "topolet.guard" -}}
app.kubernetes.io/name: topolet
app.kubernetes.io/component: guard
{{- end }}

{{- define "topolet.scheduler" -}}
app.kubernetes.io/name: topolet-scheduler
app.kubernetes.io/component: scheduler
{{- end }}
