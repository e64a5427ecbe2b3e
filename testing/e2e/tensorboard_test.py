"""`tessera submit --tensorboard` and `tessera tensorboard` on a real cluster.

TensorBoard is a small server with its options (training/tensorboard.py): it shows files of the logs.
"""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar

from e2e.case import PODS
from e2e.chart_case import OneNodeCase
from kube import images
from stack import builds

Json = dict[str, Any]
SECONDS = 120
SCRIPT = builds.ROOT / "testing" / "training" / "tensorboard.py"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
USAGE, NOT_FOUND = 2, 3  # exit statuses
LARGE = 3_000_000  # bytes


class TensorboardTest(OneNodeCase):
    image: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        archive = images.python_archive((SCRIPT, "/usr/local/bin/tensorboard"))
        cls.image = cls.stack.registry.push(archive, "tensorboard:test")
        volume = cls.cluster.directory / "volume"
        volume.mkdir()
        size: Json = {"storage": "1Gi"}
        common: Json = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
        for item in (
                {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "logs"},
                 "spec": {**common, "capacity": size, "hostPath": {"path": str(volume)}}},
                {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "logs"},
                 "spec": {**common, "volumeName": "logs", "resources": {"requests": size}}}):
            cls.cluster.kubectl("apply", "-f", "-", input=json.dumps(item))

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "jobs", "--all", "--wait=true")
        super().tearDown()

    # ---- tools

    def submit(self, name: str, *flags: str) -> str:
        """A job that writes two files of logs, and then waits."""
        write = (f"mkdir -p /logs/run; echo three > /logs/run/steps; head -c {LARGE} /dev/zero > "
                 "/logs/run/large; trap exit TERM; sleep 3600 & wait")
        return self.tessera_says(
            "submit", "pytorch", f"--name={name}", f"--image={self.image}", "--gpumemory=2",
            "--tensorboard", f"--tensorboard-image={self.image}", "--logdir=/logs/run", *flags,
            "--", write)

    def tensorboard_of(self, name: str) -> Json:
        """The pod of the job's TensorBoard."""
        label = f"tessera.dev/tensorboard%3D{name}"
        found: Json = self.api.json("GET", f"{PODS}?labelSelector={label}")["items"][0]
        return found

    @contextmanager
    def opened(self, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
        """`tessera tensorboard`, and the port that it prints."""
        program = subprocess.Popen([str(builds.program("tessera")), "tensorboard", *arguments],
                                   env=self.environment(), text=True, stdout=subprocess.PIPE)
        try:
            assert program.stdout is not None
            line = program.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:(\d+) ", line)
            assert found is not None, line
            yield program, int(found[1])
        finally:
            program.kill()
            program.communicate()

    def left(self) -> list[str]:
        return [item["metadata"]["name"] for path in (DEPLOYMENTS, SERVICES, PODS)
                for item in self.api.json("GET", path)["items"]
                if item["metadata"]["name"] != "kubernetes"]

    def assert_serves(self, port: int) -> None:
        """Several connections at once, several requests on each, in both directions."""
        def talk(number: int) -> list[bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
            answers = []
            for method, path, body in (("GET", "/steps", b""), ("GET", "/large", b""),
                                       ("POST", "/", bytes([number]) * LARGE),
                                       ("GET", "/environment", b""), ("GET", "/write", b"")):
                connection.request(method, path, body)
                answers.append(connection.getresponse().read())
            connection.close()
            return answers
        with ThreadPoolExecutor(8) as pool:
            for number, answers in enumerate(pool.map(talk, range(8))):
                self.assertEqual(answers[0], b"three\n")
                self.assertEqual(answers[1], bytes(LARGE))
                self.assertEqual(answers[2], bytes([number]) * LARGE)
                self.assertEqual(answers[3:], [b"void", b"Read-only file system"])

    # ---- tests

    def test_logs_on_a_claim(self) -> None:
        said = self.submit("claim", "--data=logs:/logs")
        self.assertIn("deployment.apps/claim-tensorboard created\n"
                      "service/claim-tensorboard created\n", said)
        with self.opened("claim", "--port=0") as (program, port):
            shown = self.tessera_says("get", "claim")
            self.assertIn("Tensorboard:\n  Your tensorboard is available by: tessera tensorboard "
                          "claim -n default\n", shown)
            job = json.loads(self.tessera_says("get", "claim", "-o", "json"))
            self.assertEqual(job["tensorboard"], "http://claim-tensorboard.default.svc:6006")
            self.assertEqual(len(job["instances"]), 1, "TensorBoard's pod is not one of the job")
            pod = self.tensorboard_of("claim")
            self.assertEqual(pod["spec"]["containers"][0]["resources"], {}, "no GPU")
            self.assert_serves(port)
            done = self.run_tessera("tensorboard", "claim", f"--port={port}")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--port: choose another one, or 0 for any free one: cannot listen on "
                          f"127.0.0.1:{port}", done.stderr)
            # Another pod takes its place.
            self.cluster.kubectl("delete", "pod", pod["metadata"]["name"], "--now")
            def serves() -> bool:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
                try:
                    connection.request("GET", "/steps")
                    return connection.getresponse().read() == b"three\n"
                except (OSError, http.client.HTTPException):
                    return False
                finally:
                    connection.close()
            self.cluster.wait_for("the new pod serves", serves, SECONDS)
            self.tessera_says("delete", "claim")
            rest, _ = program.communicate(timeout=SECONDS)
            self.assertEqual((program.returncode, rest), (0, "The job claim is deleted\n"))
        self.cluster.wait_for("nothing is left", lambda: not self.left(), SECONDS)

    def test_logs_on_the_node(self) -> None:
        """And a command that was cut off is completed by the same command."""
        folder = f"--data-dir={self.cluster.directory}/host:/logs"
        self.submit("host", folder)
        self.cluster.kubectl("delete", "deployment,service", "host-tensorboard")
        self.assertEqual(self.submit("host", folder).splitlines()[:2], [
            "deployment.apps/host-tensorboard created", "service/host-tensorboard created"])
        with self.opened("host", "--port=0") as (program, port):
            self.assert_serves(port)
            program.send_signal(signal.SIGINT)  # Ctrl-C
            program.communicate(timeout=SECONDS)
            self.assertEqual(program.returncode, -signal.SIGINT)
        self.tessera_says("delete", "host")
        self.cluster.wait_for("nothing is left", lambda: not self.left(), SECONDS)

    def test_mistakes(self) -> None:
        job = ("submit", "job", "--name=plain", f"--image={self.image}")
        self.refused(USAGE, "--logdir: /training_logs is not on a volume that TensorBoard can share; "
                            "mount one there, as in --data CLAIM:/training_logs", *job,
                     "--tensorboard", "--", "true")
        self.refused(USAGE, "--logdir: needs --tensorboard", *job, "--logdir=/logs", "--", "true")
        self.tessera_says(*job, "--", "sleep 60")
        self.refused(NOT_FOUND, "the job plain has no TensorBoard; submit it with --tensorboard",
                     "tensorboard", "plain")
        self.refused(NOT_FOUND, "there is no training job nothing", "tensorboard", "nothing")
