"""`tessera submit --backend trainjob`, with Kubeflow Trainer and JobSet from their own Helm charts.
`./dev check trainer` runs it."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from e2e.case import PODS
from e2e.training_case import SECONDS, TrainingCase
from stack import builds, trainer

Json = dict[str, Any]
TRAINER = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default"
TRAIN_JOBS, RUNTIMES = f"{TRAINER}/trainjobs", f"{TRAINER}/trainingruntimes"
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
USAGE, CONFLICT = 2, 4  # exit statuses
PROGRAM = builds.ROOT / "testing" / "e2e" / "trainer_program.sh"


class TrainerTest(TrainingCase):
    with_dns = True
    objects = (TRAIN_JOBS, RUNTIMES, JOB_SETS, *TrainingCase.objects)
    merge_patch: ClassVar[tuple[str, ...]] = ("--type=merge", "-p")

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.addClassCleanup(cls.cluster.save_logs)
        trainer.install(cls.cluster, cls.stack.registry)

    def tearDown(self) -> None:
        for job in json.loads(self.tessera_says("list", "-o", "json")):
            self.tessera_says("delete", job["name"])
        self.assert_nothing_is_left()
        super().tearDown()

    # ---- tools

    def submit(self, name: str, *flags: str, command: str) -> str:
        return self.tessera_says("submit", "pytorch", f"--name={name}", "--backend=trainjob",
                                 f"--image={self.stack.gpuhog}", "--workers=2", "--gpumemory=4",
                                 f"--config-file={PROGRAM}:/train/program.sh", *flags, "--", command)

    def log_with(self, word: str, job: str, pod: str) -> str:
        """Waits until the log of the pod has this word, and returns the log."""
        def found() -> str:
            text = self.tessera_says("logs", job, "-i", pod)
            return text if word in text else ""
        log: str = self.cluster.wait_for(f"{word} in the log of {pod}", found, SECONDS)
        return log

    def condition(self, name: str, kind: str) -> Json:
        """Of the TrainJob."""
        job = self.api.json("GET", f"{TRAIN_JOBS}/{name}")
        for each in job.get("status", {}).get("conditions", []):
            if each["type"] == kind and each["status"] == "True":
                found: Json = each
                return found
        return {}

    # ---- tests

    def test_two_workers(self) -> None:
        """Each has a share of a GPU of its own, and finds the first by its name."""
        said = self.submit("dist", command="sh /train/program.sh 0")
        self.assertRegex(said, r"^trainingruntime.trainer.kubeflow.org/dist created\n"
                               r"configmap/dist-\w+ created\n"
                               r"trainjob.trainer.kubeflow.org/dist created\nThe job dist is ")
        job = self.becomes("dist", "RUNNING")
        self.assertEqual(len({pod["gpus"][0]["uuid"] for pod in job["instances"]}), 2)
        self.assertEqual([pod["chief"] for pod in job["instances"]], [True, False])
        for views in (("list",), ("top", "job")):
            self.assertRegex(self.tessera_says(*views), re.compile(
                r"^dist  RUNNING  PYTORCHJOB +\S+ +0 +0\.5 +\S+ +4Gi +N/A$", re.MULTILINE))
        for number, pod in enumerate(job["instances"]):
            log = self.log_with("ready", "dist", pod["name"])
            self.assertIn(f"rank {number} of 2, 1 process, dist-node-0-0.dist:29500, "
                          f"GPU of {4 << 30} bytes\n", log)
        self.assertEqual(self.tessera_says("attach", "dist", "--", "echo", "x").strip(), "x")
        for pod in job["instances"]:
            self.cluster.kubectl("exec", pod["name"], "--", "touch", "/tmp/end")
        self.becomes("dist", "SUCCEEDED")
        self.cluster.wait_for("the TrainJob is complete", lambda: self.condition(
            "dist", "Complete"), SECONDS)
        self.refused(CONFLICT, "the training job dist exists already", "submit", "pytorch",
                     "--name=dist", "--backend=trainjob", f"--image={self.stack.gpuhog}", "--",
                     "true")

    def test_a_pod_that_fails(self) -> None:
        self.submit("bad", command="sh /train/program.sh 3")
        job = self.becomes("bad", "FAILED")
        self.assertIn("it ended with exit code 3", job["reason"])
        self.assertTrue(self.cluster.wait_for("the TrainJob has failed", lambda: self.condition(
            "bad", "Failed"), SECONDS))

    def test_a_queue(self) -> None:
        """Nothing runs until Kueue, or a user, resumes the TrainJob."""
        self.submit("queued", "--queue=gpus", command="true")
        self.assertEqual(self.get("queued")["status"], "QUEUING")
        labels = self.api.json("GET", f"{TRAIN_JOBS}/queued")["metadata"]["labels"]
        self.assertEqual(labels["kueue.x-k8s.io/queue-name"], "gpus")
        self.cluster.wait_for("the TrainJob is suspended", lambda: self.condition(
            "queued", "Suspended"), SECONDS)
        self.assertEqual(self.api.json("GET", PODS)["items"], [])
        self.cluster.kubectl("patch", "trainjob", "queued", *self.merge_patch,
                             '{"spec":{"suspend":false}}')
        self.becomes("queued", "SUCCEEDED")

    def test_what_was_cut_is_completed(self) -> None:
        """A runtime without a TrainJob is shown, completed by the same command, and deleted."""
        command = "trap 'exit 0' TERM; sleep 1000 & wait"
        self.submit("cut", command=command)
        self.becomes("cut", "RUNNING")
        self.cluster.kubectl("delete", "trainjob", "cut", "--wait=true")
        self.cluster.wait_for("its pods are gone", lambda: not self.api.json(
            "GET", PODS)["items"], SECONDS)
        self.assertIn("its TrainJob is missing", self.get("cut")["reason"])
        self.assertEqual(self.submit("cut", command=command).splitlines()[0],
                         "trainjob.trainer.kubeflow.org/cut created")
        self.becomes("cut", "RUNNING")
        self.cluster.kubectl("delete", "trainjob", "cut", "--wait=true")

    def test_mistakes(self) -> None:
        job = ("--name=mistake", "--backend=trainjob", f"--image={self.stack.gpuhog}")
        self.refused(USAGE, "--backend: trainjob has pods of one kind",
                     "submit", "tf", *job, "--ps=1", "--", "true")
        self.refused(USAGE, "--ttl-after-finished: cannot be used with --backend trainjob",
                     "submit", "job", *job, "--ttl-after-finished=1h", "--", "true")
        self.refused(USAGE, "may have at most 47 with --backend trainjob", "submit", "job",
                     f"--name={48 * 'a'}", *job[1:], "--workers=11", "--", "true")
        # What the API server refuses of a Job is refused before anything is made.
        done = self.run_tessera("submit", "job", *job, "--selector=zone=a/b", "--", "true")
        self.assertIn("nodeSelector", done.stderr)
        self.assertEqual(self.api.json("GET", RUNTIMES)["items"], [])
        # A Service of a user has the name that the job's host names need.
        self.cluster.kubectl("create", "service", "clusterip", "taken", "--tcp=80")
        self.addCleanup(self.cluster.kubectl, "delete", "service", "taken", "--ignore-not-found")
        self.refused(CONFLICT, "services taken exists already in namespace default, and does not "
                               "belong to this job; delete it, or choose another --name; the job "
                               "was deleted again", "submit", "pytorch", "--name=taken", *job[1:],
                     "--workers=2", "--", "true")
        self.cluster.kubectl("delete", "service", "taken")

    def test_a_name_can_be_used_again(self) -> None:
        """The end of the earlier job is not taken for that of the new one."""
        self.submit("again", command="exit 3")
        self.becomes("again", "FAILED")
        self.tessera_says("delete", "again")
        self.submit("again", command="trap 'exit 0' TERM; sleep 1000 & wait")
        self.becomes("again", "RUNNING")
