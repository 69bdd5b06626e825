{{- /* Labels by which the parts of one release are found. */ -}}
{{- define "portico.selector" -}}
app.kubernetes.io/name: portico
app.kubernetes.io/instance: {{ .release.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "portico.labels" -}}
{{ include "portico.selector" . }}
app.kubernetes.io/version: {{ .release.Chart.AppVersion | quote }}
{{- end }}

{{- define "portico.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* A Deployment and its PodDisruptionBudget: "component", its "values", the "arguments" of the program, and the "release". */ -}}
{{- define "portico.instances" -}}
{{- $release := .release -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $release.Release.Name }}-{{ .component }}
  labels: {{- include "portico.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels: {{- include "portico.selector" . | nindent 6 }}
  strategy:
    # A new instance is ready before an old one stops.
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  template:
    metadata:
      labels: {{- include "portico.labels" . | nindent 8 }}
    spec:
      # The program needs nothing of the cluster, and the variables that name its services look like settings.
      automountServiceAccountToken: false
      enableServiceLinks: false
      # The pause before SIGTERM, five seconds in which /readyz fails, fifteen for requests and thirty-five for deliveries.
      terminationGracePeriodSeconds: 75
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        # Reads the files of the secret.
        fsGroup: 10001
        seccompProfile: { type: RuntimeDefault }
      {{- with $release.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: portico
          image: {{ include "portico.image" $release }}
          imagePullPolicy: {{ $release.Values.image.pullPolicy }}
          args: {{ .arguments | toJson }}
          ports:
            - { name: http, containerPort: 8080 }
            - { name: metrics, containerPort: 9464 }
          env:
            - { name: PORTICO_HTTP__ADMIN_LISTEN, value: "0.0.0.0:9464" }
            - { name: PORTICO_LOG__FORMAT, value: json }
            {{- with $release.Values.trustedProxies }}
            - { name: PORTICO_HTTP__TRUSTED_PROXIES, value: {{ . | quote }} }
            {{- end }}
            {{- if $release.Values.extensionsConfigMap }}
            - { name: PORTICO_EXTENSIONS__DIRECTORY, value: /etc/portico/extensions }
            {{- end }}
            {{- range $setting, $key := $release.Values.secret.files }}
            - { name: {{ $setting }}__FILE, value: /run/secrets/portico/{{ $key }} }
            {{- end }}
            {{- range $setting, $value := $release.Values.settings }}
            - { name: {{ $setting }}, value: {{ $value | quote }} }
            {{- end }}
          # Migrates before it listens, which may take long.
          startupProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 5
            failureThreshold: 720
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 10
            timeoutSeconds: 3
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 2
            timeoutSeconds: 3
            failureThreshold: 2
          lifecycle:
            # Until everybody knows that the pod is leaving.
            preStop:
              sleep: { seconds: 5 }
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          volumeMounts:
            - { name: secrets, mountPath: /run/secrets/portico, readOnly: true }
            {{- if $release.Values.extensionsConfigMap }}
            - { name: extensions, mountPath: /etc/portico/extensions, readOnly: true }
            {{- end }}
      volumes:
        - name: secrets
          secret: { secretName: {{ $release.Values.secret.name }}, defaultMode: 0440 }
        {{- with $release.Values.extensionsConfigMap }}
        - name: extensions
          configMap: { name: {{ . }} }
        {{- end }}
      # Not all on one machine.
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "portico.selector" . | nindent 14 }}
      {{- with $release.Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $release.Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $release.Release.Name }}-{{ .component }}
  labels: {{- include "portico.labels" . | nindent 4 }}
spec:
  minAvailable: {{ .values.minAvailable }}
  selector:
    matchLabels: {{- include "portico.selector" . | nindent 6 }}
{{- end }}
