{{- define "shardwright.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* Of the part that is given: a list of the root and "controller" or "agent". */}}
{{- define "shardwright.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "shardwright.labels" -}}
{{- $root := index . 0 -}}
{{ include "shardwright.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end }}

{{/* Spread over hosts, unless said otherwise. */}}
{{- define "shardwright.placement" -}}
{{- $part := index . 2 -}}
affinity:
{{- if $part.affinity }}
  {{- toYaml $part.affinity | nindent 2 }}
{{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "shardwright.selector" . | nindent 14 }}
{{- end }}
{{- with $part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "shardwright.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "shardwright.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "shardwright.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- if $image.digest }}
image: {{ printf "%s@%s" $image.repository $image.digest | quote }}
{{- else }}
image: {{ printf "%s:%s" $image.repository (default $root.Chart.AppVersion $image.tag) | quote }}
{{- end }}
imagePullPolicy: {{ $image.pullPolicy }}
{{- end }}

{{/* The URLs by which the controllers are called: those of both services, and what is in front of them. */}}
{{- define "shardwright.calledBy" -}}
{{- $name := include "shardwright.fullname" . -}}
{{- $port := .Values.controller.service.port -}}
{{- $urls := list -}}
{{- range $service := list $name (printf "%s-maps" $name) -}}
{{- range $suffix := list "" (printf ".%s" $.Release.Namespace) (printf ".%s.svc" $.Release.Namespace) -}}
{{- $urls = append $urls (printf "https://%s%s:%v" $service $suffix $port) -}}
{{- end -}}
{{- end -}}
{{- concat $urls .Values.controller.alsoAt | join "," -}}
{{- end }}

{{- define "shardwright.tlsSecret" -}}
{{- required "controller.tlsSecret is missing: the name of a secret with the keys tls.crt, tls.key and ca.crt" .Values.controller.tlsSecret -}}
{{- end }}
