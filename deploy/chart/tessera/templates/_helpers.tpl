{{/* The recommended labels of an object. Call it with (list . "COMPONENT"). */}}
{{- define "tessera.labels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: tessera
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The labels by which objects select the pods of a component. They never change. */}}
{{- define "tessera.selector" -}}
app.kubernetes.io/name: tessera
app.kubernetes.io/component: {{ . }}
{{- end -}}

{{/* An image of ours, by its digest or else by its tag. Call it with (list . "tessera-agent"). */}}
{{- define "tessera.image" -}}
{{- $root := index . 0 -}}
{{- $registry := required "image.registry: missing; set it to the registry with Tessera's images (docs/install/helm.md)" $root.Values.image.registry -}}
{{- $digest := index $root.Values.image.digests (trimPrefix "tessera-" (index . 1)) -}}
{{ trimSuffix "/" $registry }}/{{ index . 1 }}{{ with $digest }}@{{ . }}{{ else }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end -}}

{{/* Whether kube-scheduler reaches the controllers over TLS. */}}
{{- define "tessera.hasExtenderTls" -}}
{{ and (eq .Values.mode "extender") .Values.extender.tls.enabled }}
{{- end -}}

{{/* The agent's flag with agent.nodeConfigs. Its keys are those of the agent: slots_per_gpu. */}}
{{- define "tessera.nodeConfigs" -}}
{{- $configs := dict -}}
{{- range $name, $values := . -}}
{{- $config := dict -}}
{{- range $key, $value := $values -}}
{{- $_ := set $config (snakecase $key) $value -}}
{{- end -}}
{{- $_ := set $configs $name $config -}}
{{- end -}}
--node-configs={{ toJson $configs }}
{{- end -}}

{{/* The stock kube-scheduler. A cluster's version may have a suffix: v1.33.1+k3s1, v1.31.7-eks-bcf3d70. */}}
{{- define "tessera.schedulerImage" -}}
{{- $image := .Values.scheduler.image -}}
{{- $version := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version -}}
{{ $image.repository | default "registry.k8s.io/kube-scheduler" }}:{{ $image.tag | default $version }}
{{- end -}}

{{/* The processors of the nodes that agents run on: the guard is for one only. */}}
{{- define "tessera.architecture" -}}
- {key: kubernetes.io/arch, operator: In, values: [amd64{{ if not .Values.guard.enabled }}, arm64{{ end }}]}
{{- end -}}

{{- define "tessera.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* What a container may do that needs no right of the host. */}}
{{- define "tessera.restricted" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* The nodes that agents run on: the nodes' affinity and tolerations. */}}
{{- define "tessera.agentNodes" -}}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        {{- range $key, $value := .Values.agent.nodeLabels }}
        - matchExpressions:
            {{- if eq (toString $value) "*" }}
            - {key: {{ $key | quote }}, operator: Exists}
            {{- else }}
            - {key: {{ $key | quote }}, operator: In, values: [{{ toString $value | quote }}]}
            {{- end }}
            {{- include "tessera.architecture" $ | nindent 12 }}
        {{- end }}
        {{- if .Values.agent.acceptGpushareLabel }}
        - matchExpressions:
            - {key: gpushare, operator: In, values: ["true"]}
            {{- include "tessera.architecture" $ | nindent 12 }}
        {{- end }}
{{- /* Only an agent removes the startup taint, so it must run there. */}}
{{- $key := .Values.agent.startupTaint }}
{{- $own := ternary list (list (dict "key" $key "operator" "Exists")) (empty $key) }}
tolerations:
  {{- concat (.Values.agent.tolerations | default list) $own | toYaml | nindent 2 }}
{{- end -}}

{{/* What the agents may do as root beside reading: "KILL, SYS_ADMIN", or nothing. */}}
{{- define "tessera.agentCapabilities" -}}
{{- $kill := ternary "KILL" "" (eq .Values.guard.bypassAction "kill") }}
{{- $limit := ternary "" "SYS_ADMIN" (empty .Values.guard.cgroupFolder) }}
{{- if .Values.guard.enabled }}{{ join ", " (compact (list $kill $limit)) }}{{ end }}
{{- end -}}

{{/* Whether containers have limits of a dialect, in CEL: of the specification of pods at this path. */}}
{{- define "tessera.requestsGpus" -}}
{{- $root := index . 0 }}
{{- $spec := index . 1 -}}
({{ $spec }}.containers + {{ $spec }}.?initContainers.orValue([])).exists(c,
c.?resources.limits.orValue({}).exists(r, r.startsWith('tessera.dev/') || r.startsWith('aliyun.com/gpu-')
{{- if has "gpu-manager" $root.Values.dialects }} || r.startsWith('tencent.com/vcuda-'){{ end }}))
{{- end -}}

{{/* The namespaces whose objects reach the webhooks. */}}
{{- define "tessera.webhookNamespaces" -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: {{ concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces | uniq | toJson }}
{{- end -}}

{{- /* The schema of an amount of time: domain/budget/gpu_duration.hpp has the exact rules. */}}
{{- define "tessera.gpuDuration" -}}
type: string
minLength: 2
maxLength: 64
pattern: ^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+([.][0-9]{1,9})?s)?$
{{- end }}

{{- /* The flags of a client of the ledger. */}}
{{- define "tessera.ledgerFlags" -}}
- --ledger-url=https://tessera-ledger.{{ .Release.Namespace }}.svc
- --ledger-ca-file=/etc/tessera/ledger/ca/ca.crt
- --ledger-token-file=/etc/tessera/ledger/token/token
{{- end }}

{{- define "tessera.ledgerMounts" -}}
- {name: ledger-ca, mountPath: /etc/tessera/ledger/ca, readOnly: true}
- {name: ledger-token, mountPath: /etc/tessera/ledger/token, readOnly: true}
{{- end }}

{{- define "tessera.ledgerVolumes" -}}
# The ledger makes the authority later than its clients start.
- {name: ledger-ca, configMap: {name: tessera-ledger-ca, optional: true}}
- name: ledger-token
  projected:
    defaultMode: 0440
    sources: [{serviceAccountToken: {audience: tessera-ledger, expirationSeconds: 3600, path: token}}]
{{- end }}
