"""The command lines of etcd, the three control-plane programs of Kubernetes and kube-proxy.

As in a production cluster there are TLS with one CA, client certificates, Node and RBAC
authorization, and real service-account tokens. Unlike in production, etcd does not sync, there is
no leader election, and the client-side rate limits are very high. Only the functions `write_...`
write files; all others are pure.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kube.pki import Identity, Pki

# in the order in which they start
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
KUBECONFIG_PLACEHOLDER = "KUBECONFIG_PATH"
PROXY = "kube-proxy"
FRONT_PROXY = "front-proxy-client"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Addresses:
    """host: the address at which the machine, the nodes and the pods reach the control plane.
    services: the network of ClusterIPs. pods: the network of pods whose traffic to ClusterIPs
    kube-proxy handles; without kube-proxy, Services exist only in the API."""

    host: str = LOOPBACK
    services: str = "10.96.0.0/16"
    pods: str = ""

    @property
    def api_service(self) -> str:
        """The ClusterIP of the Service `kubernetes`."""
        return str(ipaddress.IPv4Network(self.services)[1])

    @property
    def bind(self) -> str:
        """The address on which the control plane listens."""
        return LOOPBACK if self.host == LOOPBACK else "0.0.0.0"

    def identities(self) -> list[Identity]:
        """The certificates of the components and of the admin."""
        addresses = dict.fromkeys((LOOPBACK, self.host, self.api_service))
        names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                 "kubernetes.default.svc.cluster.local")
        return [Identity("server", "kube-apiserver", names=(
                    *(f"IP:{address}" for address in addresses),
                    *(f"DNS:{name}" for name in names))),
                Identity("admin", "kubernetes-admin", "system:masters"),
                Identity(FRONT_PROXY, FRONT_PROXY),
                *(Identity(name, f"system:{name}") for name in (*COMPONENTS[2:], PROXY))]



@dataclass(frozen=True)
class Ports:
    """The ports of the components."""

    etcd: int
    etcd_peer: int
    api: int
    controller_manager: int
    scheduler: int


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """The directory of the run, the directory of the programs, the keys and the ports.

    etcd: the path of etcd, which is not a program of Kubernetes and so not in `programs`.
    node: the name of the node whose address kube-proxy uses."""

    directory: Path
    programs: Path
    pki: Pki
    ports: Ports
    addresses: Addresses
    etcd: Path
    node: str = ""

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{self.addresses.host}:{self.ports.api}"

    def write_kubeconfigs(self) -> Path:
        """Writes the kubeconfigs of the components and of the admin. Returns the admin's."""
        for name in (*COMPONENTS[2:], PROXY):
            self.pki.kubeconfig(self.kubeconfig(name), self.server, name)
        return self.pki.kubeconfig(self.kubeconfig("admin"), self.server, "admin")

    def write_scheduler_config(self, text: str | None) -> None:
        """Writes the scheduler's configuration: the given text with the placeholder filled in, or a
        default."""
        path = str(self.kubeconfig("kube-scheduler"))
        if text is None:
            text = json.dumps({
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration", "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": path, "qps": 1000, "burst": 2000}})
        self._scheduler_config().write_text(text.replace(KUBECONFIG_PLACEHOLDER, path))

    def write_audit_policy(self, users: Sequence[str] = ()) -> None:
        """Writes the audit policy that `commands(audit=True)` uses: all requests in full, or only
        the metadata of these users' requests."""
        rules: list[dict[str, object]] = [{"level": "RequestResponse"}]
        if users:
            rules = [{"level": "Metadata", "users": list(users)}, {"level": "None"}]
        (self.directory / "audit-policy.json").write_text(json.dumps({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
            "omitStages": ["RequestReceived"], "rules": rules}))

    def write_proxy_config(self) -> None:
        """Writes the configuration of kube-proxy."""
        self._proxy_config().write_text(json.dumps({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
            "mode": "iptables", "clusterCIDR": self.addresses.pods,
            "hostnameOverride": self.node,
            "clientConnection": {"kubeconfig": str(self.kubeconfig(PROXY)), "qps": 1000,
                                 "burst": 2000},
            # Tests create pods and use their Services at once.
            "iptables": {"minSyncPeriod": "0.1s"},
            # These limits belong to the machine. The kernel also refuses a negative oom_score_adj
            # on some machines.
            "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s",
                          "tcpCloseWaitTimeout": "0s"},
            "oomScoreAdj": 0}, indent=1))

    def proxy(self, program: Path) -> list[str]:
        """The command line of kube-proxy."""
        return [str(program), f"--config={self._proxy_config()}"]

    def kubeconfig(self, name: str) -> Path:
        """The path of an identity's kubeconfig."""
        return self.directory / f"{name}.kubeconfig"

    def commands(self, audit: bool, extra: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The command line of each component. Arguments in `extra` come last, so they take
        precedence."""
        lines = {"kube-apiserver": self._apiserver(audit),
                 "kube-controller-manager": self._controller_manager(),
                 "kube-scheduler": self._scheduler()}
        of_kubernetes = {name: [str(self.programs / name), *line, *extra.get(name, ())]
                         for name, line in lines.items()}
        return {"etcd": [str(self.etcd), *self._etcd(), *extra.get("etcd", ())], **of_kubernetes}

    def _etcd(self) -> list[str]:
        client = f"https://127.0.0.1:{self.ports.etcd}"
        peer = f"https://127.0.0.1:{self.ports.etcd_peer}"
        keys = [f"--cert-file={self.pki.certificate('server')}",
                f"--key-file={self.pki.key('server')}",
                f"--trusted-ca-file={self.pki.ca}", "--client-cert-auth"]
        peer_keys = [k.replace("--", "--peer-", 1) for k in keys]
        return ["--name=tessera", f"--data-dir={self.directory / 'etcd'}", "--unsafe-no-fsync",
                "--log-level=warn", f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=tessera={peer}",
                *keys, *peer_keys]

    def _serving(self, port: int) -> list[str]:
        return [f"--bind-address={self.addresses.bind}", f"--secure-port={port}",
                f"--tls-cert-file={self.pki.certificate('server')}",
                f"--tls-private-key-file={self.pki.key('server')}",
                f"--client-ca-file={self.pki.ca}"]

    def _apiserver(self, audit: bool) -> list[str]:
        # Loopback may not be in an EndpointSlice.
        reconciler = "none" if self.addresses.host == LOOPBACK else "lease"
        line = [
            *self._serving(self.ports.api), f"--advertise-address={self.addresses.host}",
            f"--endpoint-reconciler-type={reconciler}",
            f"--etcd-servers=https://127.0.0.1:{self.ports.etcd}",
            f"--etcd-cafile={self.pki.ca}", f"--etcd-certfile={self.pki.certificate('server')}",
            f"--etcd-keyfile={self.pki.key('server')}", "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
            f"--service-cluster-ip-range={self.addresses.services}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.pki.service_account_public}",
            f"--service-account-signing-key-file={self.pki.service_account_key}",
            # The API server reaches kubelets by node name, which resolves to 127.0.0.1 in the run.
            "--kubelet-preferred-address-types=Hostname",
            f"--kubelet-certificate-authority={self.pki.ca}",
            f"--kubelet-client-certificate={self.pki.certificate('admin')}",
            f"--kubelet-client-key={self.pki.key('admin')}",
            # How the API server authenticates itself to aggregated API servers.
            f"--requestheader-client-ca-file={self.pki.ca}",
            f"--requestheader-allowed-names={FRONT_PROXY}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self.pki.certificate(FRONT_PROXY)}",
            f"--proxy-client-key-file={self.pki.key(FRONT_PROXY)}",
            "--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000"]
        if audit:
            line += [f"--audit-policy-file={self.directory / 'audit-policy.json'}",
                     f"--audit-log-path={self.directory / 'logs' / 'audit.log'}"]
        return line

    def _delegated(self, name: str) -> list[str]:
        path = self.kubeconfig(name)
        return [f"--authentication-kubeconfig={path}", f"--authorization-kubeconfig={path}"]

    def _controller_manager(self) -> list[str]:
        name = "kube-controller-manager"
        return [
            *self._serving(self.ports.controller_manager), *self._delegated(name),
            f"--kubeconfig={self.kubeconfig(name)}", "--use-service-account-credentials",
            f"--service-account-private-key-file={self.pki.service_account_key}",
            f"--root-ca-file={self.pki.ca}", "--leader-elect=false",
            "--kube-api-qps=1000", "--kube-api-burst=2000",
            "--horizontal-pod-autoscaler-sync-period=5s",
            "--node-monitor-period=1s",  # also the delay until a new node's not-ready taint is gone
            f"--flex-volume-plugin-dir={self.directory / 'volume-plugins'}"]

    def _scheduler(self) -> list[str]:
        return [*self._serving(self.ports.scheduler), *self._delegated("kube-scheduler"),
                f"--config={self._scheduler_config()}"]

    def _proxy_config(self) -> Path:
        return self.directory / "kube-proxy.json"

    def _scheduler_config(self) -> Path:
        return self.directory / "scheduler-config.yaml"
