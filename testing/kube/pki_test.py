"""Keys and certificates, checked with openssl."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from kube.pki import Identity, Pki


class PkiTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)

    def test_certificates_verify_and_are_no_authorities(self) -> None:
        pki = Pki(self.directory / "pki")
        pki.create([Identity("node", "system:node:n", "system:nodes", ("DNS:n", "IP:127.0.0.1"))])
        text = subprocess.run(["openssl", "x509", "-noout", "-text", "-in",
                               pki.certificate("node")],
                              check=True, capture_output=True, text=True).stdout
        for part in ("O = system:nodes, CN = system:node:n", "DNS:n, IP Address:127.0.0.1",
                     "CA:FALSE"):
            self.assertIn(part, text)
        subprocess.run(["openssl", "verify", "-CAfile", pki.ca, pki.certificate("node")],
                       check=True, capture_output=True)
        config = json.loads(pki.kubeconfig(self.directory / "k", "https://x", "node").read_text())
        self.assertEqual(config["clusters"][0]["cluster"]["server"], "https://x")
        self.assertEqual((self.directory / "k").stat().st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()
