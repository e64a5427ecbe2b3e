"""`tessera submit mpi` on a real cluster: Debian's Open MPI starts a program in two workers, each with
a GPU share of its own, by tessera-mpi-shell in place of ssh."""

from __future__ import annotations

import re
from typing import ClassVar

from e2e.training_case import JOBS, SECONDS, TrainingCase
from training import mpi_image

PUBLIC = "/api/v1/namespaces/kube-public/configmaps/tessera"
USAGE, NOT_FOUND = 2, 3  # exit statuses


class MpiTest(TrainingCase):
    with_dns = True
    objects = (*TrainingCase.objects, "/api/v1/namespaces/default/secrets")
    image: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.image = cls.stack.registry.push(mpi_image.archive(), "open-mpi:test")

    # ---- tools

    def submit(self, name: str, *flags: str, command: str) -> str:
        return self.tessera_says("submit", "mpi", f"--name={name}", f"--image={self.image}",
                                 "--workers=2", "--gpumemory=4", *flags, "--", command)

    def roles(self, name: str) -> set[str]:
        return {pod["role"] for pod in self.get(name)["instances"]}

    # ---- tests

    def test_two_workers_add_up(self) -> None:
        said = self.submit("ring", command="mpirun allreduce && touch /tmp/end && sleep 5")
        self.assertRegex(said, r"^job.batch/ring-launcher created\nconfigmap/ring-\w+ created\n"
                               r"secret/ring-mpi created\nservice/ring created\n"
                               r"job.batch/ring-worker created\nThe job ring is submitted\.")
        job = self.becomes("ring", "SUCCEEDED")
        self.assertTrue(job["chiefName"].startswith("ring-launcher-0-"))
        logs = self.tessera_says("logs", "ring")
        self.assertIn("tessera: all 2 workers can be reached\n", logs)
        for rank in (0, 1):
            self.assertIn(f"rank {rank} of 2 on ring-worker-{rank}: sum 21, GPU of 4096 MiB\n", logs)
        self.cluster.wait_for("the workers have ended", lambda: self.roles("ring") == {"launcher"},
                              SECONDS)
        worker = self.api.json("GET", f"{JOBS}/ring-worker")
        self.assertIn("the job ring-launcher succeeded",
                      worker["metadata"]["annotations"]["tessera.dev/ended-because"])
        self.assertEqual(self.get("ring")["status"], "SUCCEEDED")

    def test_a_rank_that_fails(self) -> None:
        self.submit("bad", command="mpirun allreduce 3")
        job = self.becomes("bad", "FAILED")
        self.assertIn("it ended with exit code 3", job["reason"])
        logs = self.tessera_says("logs", "bad")
        self.assertIn("rank 1 of 2 on bad-worker-1: sum 21", logs)
        self.assertRegex(logs, r"Exit code: +3")
        self.cluster.wait_for("the workers have ended", lambda: self.roles("bad") == {"launcher"},
                              SECONDS)

    def test_views_and_delete(self) -> None:
        self.submit("long", command="trap 'exit 0' TERM; mpirun allreduce; sleep 1000 & wait")
        job = self.becomes("long", "RUNNING")
        self.assertEqual([(pod["role"], pod["chief"]) for pod in job["instances"]],
                         [("launcher", True), ("worker", False), ("worker", False)])
        workers = job["instances"][1:]
        self.assertEqual(len({pod["gpus"][0]["uuid"] for pod in workers}), 2,
                         "each worker has a GPU of its own")
        for views in (("list",), ("top", "job")):
            self.assertRegex(self.tessera_says(*views), re.compile(
                r"^long  RUNNING  MPIJOB +\S+ +0 +0\.5 +\S+ +4Gi +N/A$", re.MULTILINE))
        self.assertIn("2 workers", self.cluster.wait_for(
            "the log", lambda: self.tessera_says("logs", "long"), SECONDS))
        worker = self.tessera_says("logs", "long", "-i", workers[0]["name"])
        self.assertIn('"event":"started"', worker)
        # A pod that has not the job's secret cannot run anything.
        said = self.cluster.kubectl(
            "exec", workers[0]["name"], "-c", "mpi", "--", "sh", "-c",
            "head -c 64 /dev/zero | tr '\\0' x > /tmp/other; TESSERA_MPI_SECRET_FILE=/tmp/other "
            "/tessera-mpi/tessera-mpi-rsh long-worker-1.long touch /tmp/made 2>&1; echo $?")
        self.assertIn("long-worker-1.long: it refuses the secret", said)
        self.assertTrue(said.endswith("255\n"), said)
        self.assertIn("shell_client_refused",
                      self.tessera_says("logs", "long", "-i", workers[1]["name"]))
        self.tessera_says("delete", "long")
        self.assert_nothing_is_left()

    def test_a_launcher_waits_for_its_workers(self) -> None:
        """Three workers need three GPUs, and there are two."""
        self.submit("three", "--workers=3", command="mpirun allreduce")
        self.cluster.wait_for("the reason",
                              lambda: "gang" in self.get("three").get("reason", ""), SECONDS)
        # There is no log before its init container has ended.
        self.cluster.wait_for("its progress", lambda: "waiting for 3 of 3 workers; three-worker-0" in
                              self.run_tessera("logs", "three").stdout, SECONDS)

    def test_mistakes(self) -> None:
        job = ("submit", "mpi", "--name=mistake", f"--image={self.image}")
        self.refused(USAGE, "command: is missing", *job)
        self.refused(USAGE, "--queue: cannot be used with mpi", *job, "--queue=gpus", "--", "true")
        found = self.api.json("GET", PUBLIC)
        try:
            self.api.json("DELETE", PUBLIC)
            self.refused(NOT_FOUND, "--mpi-shell-image: is missing", *job, "--", "true")
        finally:
            metadata = {name: found["metadata"][name] for name in ("name", "labels", "annotations")}
            self.api.json("POST", PUBLIC.rpartition("/")[0], found | {"metadata": metadata})
