"""The keys of a run: one CA, a certificate per identity, and the service-account key.

The keys are EC keys. One `openssl` process per certificate runs in parallel, which takes a tenth of
a second in total. All files are in one directory with mode 0700. The certificates are valid for 30
days, which is longer than any run.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kube.errors import KubeError

DAYS = "30"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
# Our own configuration, because the machine's would add CA:TRUE to every certificate.
CONFIG = "[req]\ndistinguished_name = dn\n[dn]\n"


@dataclass(frozen=True)
class Identity:
    """The subject of a certificate. group: the Kubernetes group. names: the SANs of a server."""

    file: str
    user: str
    group: str = ""
    names: tuple[str, ...] = ()

    def subject(self) -> str:
        """The subject in openssl's notation."""
        return (f"/O={self.group}" if self.group else "") + f"/CN={self.user}"


class Pki:
    """The CA in `directory`. Call `create` once; all other calls only read files or add some."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca = directory / "ca.crt"
        self.service_account_key = directory / "sa.key"
        self.service_account_public = directory / "sa.pub"

    def create(self, identities: Iterable[Identity]) -> None:
        """Creates the CA, the service-account key pair and a certificate for each identity."""
        self.directory.mkdir(mode=0o700)
        self._config().write_text(CONFIG)
        _openssl("req", "-x509", *self._config_option(), *KEY, "-keyout", self.key("ca"),
                 "-out", self.ca, "-days", DAYS, "-subj", "/CN=tessera-test-ca",
                 "-addext", "basicConstraints=critical,CA:TRUE",
                 "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                 "-addext", "subjectKeyIdentifier=hash")
        with ThreadPoolExecutor(4) as pool:
            made = [pool.submit(self._service_account_pair)]
            made += [pool.submit(self.issue, identity) for identity in identities]
            for future in made:
                future.result()

    def issue(self, identity: Identity) -> None:
        """Creates `identity.file`.crt and .key, for client and server authentication."""
        extensions = ["-addext", "basicConstraints=critical,CA:FALSE",
                      "-addext", "extendedKeyUsage=serverAuth,clientAuth"]
        if identity.names:
            extensions += ["-addext", "subjectAltName=" + ",".join(identity.names)]
        _openssl("req", "-x509", *self._config_option(), "-CA", self.ca, "-CAkey", self.key("ca"),
                 *KEY, "-keyout", self.key(identity.file), "-out", self.certificate(identity.file),
                 "-days", DAYS, "-subj", identity.subject(), *extensions)

    def certificate(self, file: str) -> Path:
        """The path of an identity's certificate."""
        return self.directory / f"{file}.crt"

    def key(self, file: str) -> Path:
        """The path of an identity's private key."""
        return self.directory / f"{file}.key"

    def kubeconfig(self, path: Path, server: str, file: str) -> Path:
        """Writes a kubeconfig for an identity with embedded keys, as JSON, which is valid YAML."""
        def data(source: Path) -> str:
            return base64.b64encode(source.read_bytes()).decode()
        path.touch(mode=0o600)
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "tessera",
            "clusters": [{"name": "tessera", "cluster": {
                "server": server, "certificate-authority-data": data(self.ca)}}],
            "users": [{"name": file, "user": {
                "client-certificate-data": data(self.certificate(file)),
                "client-key-data": data(self.key(file))}}],
            "contexts": [{"name": "tessera", "context": {"cluster": "tessera", "user": file}}],
        }, indent=1))
        return path

    def _service_account_pair(self) -> None:
        _openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-out", self.service_account_key)
        _openssl("pkey", "-in", self.service_account_key, "-pubout",
                 "-out", self.service_account_public)

    def _config(self) -> Path:
        return self.directory / "openssl.cnf"

    def _config_option(self) -> list[str]:
        return ["-config", str(self._config())]


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise KubeError(f"openssl {arguments[0]} failed: {done.stderr.strip()}")
