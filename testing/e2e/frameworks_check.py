"""Frameworks as their makers publish them, on a real cluster: PyTorch and TensorFlow train on several
pods that `tessera submit` made, and Triton serves a model. `./dev check frameworks` runs it.

They compute on CPUs: the simulated driver runs no kernels. The containers of jobs have a GPU share, so
that the guard is loaded into their processes. Triton has none: its CUDA runtime needs parts of the
driver that are not documented, and that the simulated one lacks.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import Any, ClassVar

from e2e import models
from e2e.chart_case import OneNodeCase
from frameworks import versions
from kube import images
from stack import builds

Json = dict[str, Any]
SECONDS = 600  # TensorFlow starts slowly on a busy machine
PROGRAMS = builds.ROOT / "testing" / "frameworks"
MODEL = "model: 3.00 x + -1.00"


class FrameworksTest(OneNodeCase):
    with_dns = True
    image: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        archive = images.frameworks_archive(PROGRAMS / "tritonserver")
        cls.image = cls.stack.registry.push(archive, "frameworks:test")

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "jobs,deployments", "--all", "--wait=true")
        super().tearDown()

    # ---- tools

    def with_wheels(self, name: str) -> list[str]:
        """Flags for the framework of this name."""
        return [f"--image={self.image}", f"--data-dir={versions.folder(name)}:/site",
                "--env=PYTHONPATH=/site", "--env=TF_CPP_MIN_LOG_LEVEL=2"]

    def ended(self, name: str) -> None:
        """Waits until the job has succeeded."""
        def succeeded() -> bool:
            job = json.loads(self.tessera_says("get", name, "-o", "json"))
            self.assertNotEqual(job["status"], "FAILED",
                                job.get("reason", "") + self.tessera("logs", name)[-4000:])
            return bool(job["status"] == "SUCCEEDED")
        self.cluster.wait_for(f"{name} has ended", succeeded, SECONDS)

    def trained(self, kind: str, name: str, program: str, wheels: str, *flags: str,
                run: str = "python3") -> str:
        """Submits the program, waits for its end, and returns the line with the model."""
        self.tessera_says("submit", kind, f"--name={name}", *self.with_wheels(wheels),
                          "--gpumemory=4", *flags,
                          f"--config-file={PROGRAMS / program}:/app/{program}.py", "--",
                          f"exec {run} /app/{program}.py")

        self.ended(name)
        said = self.tessera_says("logs", name)
        found = re.search(r"^.*model: .*$", said, re.MULTILINE)
        assert found is not None, said
        print(f"{found[0]}: ", end="", flush=True)
        return found[0]

    # ---- tests

    def test_torchrun(self) -> None:
        """DistributedDataParallel of PyTorch over gloo, two workers."""
        line = self.trained("pytorch", "ddp", "ddp", "torch", "--workers=2", "--gang",
                            run="python3 -m torch.distributed.run")
        self.assertRegex(line, rf"2 workers, {re.escape(MODEL)}$")

    def test_mirrored_strategy(self) -> None:
        """MultiWorkerMirroredStrategy of TensorFlow, two workers."""
        line = self.trained("tf", "mirrored", "mirrored", "tensorflow", "--workers=2", "--gang")
        self.assertRegex(line, rf"2 workers, {re.escape(MODEL)}$")

    def test_parameter_servers(self) -> None:
        """ParameterServerStrategy of TensorFlow. The worker and the parameter server end with the
        chief."""
        line = self.trained("tf", "served", "servers", "tensorflow", "--chief", "--ps=1")
        self.assertRegex(line, rf"1 parameter server, {re.escape(MODEL)}$")

        def ended() -> bool:
            pods = json.loads(self.tessera_says("get", "served", "-o", "json"))["instances"]
            return {pod["role"] for pod in pods} == {"chief"}
        self.cluster.wait_for("the others have ended", ended, SECONDS)

    def test_serving_client(self) -> None:
        """The official client of TensorFlow Serving calls our model server by gRPC."""
        models.make_volume(self.api, self.cluster.directory / "volume")
        server = self.stack.registry.push(
            builds.model_server_image(self.cluster.directory / "model-server"), "model-server:test")
        self.tessera_says("serve", "tensorflow", "--name=half", f"--image={server}",
                          "--data=models:/models", "--model-name=half",
                          "--model-path=/models/half", "--gpumemory=1", "--wait")
        address = json.loads(self.tessera_says("serve", "get", "half", "-o", "json"))["ip"]
        self.tessera_says("submit", "job", "--name=client", *self.with_wheels("tensorflow"),
                          f"--data-dir={versions.folder('serving')}:/client",
                          "--env=PYTHONPATH=/site:/client",
                          f"--config-file={PROGRAMS / 'serving_client'}:/app/client.py", "--",
                          f"exec python3 /app/client.py {address}:8500 half 4 6")
        self.ended("client")
        self.assertIn("version 2: AVAILABLE\n5.0 6.0\n", self.tessera_says("logs", "client"))

    def test_triton(self) -> None:
        """Triton's own server, with a model of its Python backend."""
        server = versions.folder("triton") / "pytriton" / "tritonserver"
        stub = server / "backends" / "python" / "triton_python_backend_stub"
        shutil.copy(server / "python_backend_stubs" / "3.11" / stub.name, stub)
        for program in (stub, server / "bin" / "tritonserver"):
            program.chmod(0o755)
        model = self.cluster.directory / "models" / "double"
        (model / "1").mkdir(parents=True)
        shutil.copy(PROGRAMS / "config.pbtxt", model)
        shutil.copy(PROGRAMS / "model", model / "1" / "model.py")
        self.tessera_says("serve", "triton", "--name=double", *self.with_wheels("triton"),
                          f"--data-dir={model.parent}:/models",
                          "--model-repository=/models", "--allow-metrics", "--wait")
        job = json.loads(self.tessera_says("serve", "get", "double", "-o", "json"))
        address = f"http://{job['ip']}:8000/v2"
        version = json.loads(self.cluster.in_network("curl", "-s", "-m", "60", address))["version"]
        print(f"Triton {version}: ", end="", flush=True)
        request = {"inputs": [{"name": "IN", "shape": [2], "datatype": "FP32", "data": [1.5, 4]}]}
        answer = self.cluster.in_network("curl", "-s", "-m", "60", "-d", json.dumps(request),
                                         f"{address}/models/double/infer")
        self.assertEqual(json.loads(answer)["outputs"][0]["data"], [3, 8])
        metrics = self.cluster.in_network("curl", "-s", "-m", "60", f"http://{job['ip']}:8002/metrics")
        self.assertIn('nv_inference_request_success{model="double",version="1"} 1', metrics)
