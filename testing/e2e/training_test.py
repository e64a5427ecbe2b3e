"""`tessera submit` on a real cluster: jobs of two workers that train together (training/linear.py),
their views at each stage, jobs that fail or do not fit, and mistakes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any, ClassVar

from e2e import console_block, examples
from e2e.terminal import Terminal
from e2e.training_case import JOBS, SECONDS, TrainingCase
from kube import images
from stack import builds

Json = dict[str, Any]
GIB = 1 << 30
PROGRAM = builds.ROOT / "testing" / "training" / "linear.py"
USAGE, NOT_FOUND, CONFLICT = 2, 3, 4  # exit statuses
# A shell that is the first process of a container dies of no signal that it does not catch.
WAITS = "trap 'exit 0' TERM; sleep 1000 & wait"
TRAINED = "model: 3.00 x + -1.00"


class TrainingTest(TrainingCase, examples.Examples):
    with_dns = True
    image: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.image = cls.stack.registry.push(images.python_archive(), "python:test")

    @classmethod
    def install_chart(cls) -> None:
        """The agents tell what programs use, and so `top job` does."""
        cls.stack.install("agent.listen=true")

    # ---- tools

    def submit(self, kind: str, name: str, *flags: str, command: str = "") -> str:
        """A job that trains, unless there is another command."""
        train = f"exec python3 /train/linear.py {command}"
        return self.tessera_says("submit", kind, f"--name={name}", f"--image={self.image}",
                                 f"--config-file={PROGRAM}:/train/linear.py", *flags, "--", train)

    def assert_attached(self, job: str) -> None:
        """Commands in the chief's pod have our input, output, errors and exit status; a shell has
        our terminal."""
        def attach(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
            return subprocess.run([builds.program("tessera"), "attach", job, *arguments],
                                  input=text, env=self.environment(), text=True,
                                  capture_output=True, timeout=300)
        done = attach("--", "sh", "-c", "cat; echo $JOB_COMPLETION_INDEX a\\&b >&2; exit 7",
                      text="é\n" * 20_000)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (7, "é\n" * 20_000, "0 a&b\n"))
        self.assertEqual(attach(text="echo $((6 * 7))\n").stdout, "42\n", "a shell")
        # A command that prints before it reads, and one that ends before it has read all.
        done = attach("--", "sh", "-c", "head -c 9000000 /dev/zero; wc -c", text="x" * 9_000_000)
        self.assertEqual((done.returncode, len(done.stdout), done.stdout[9_000_000:].strip()),
                         (0, 9_000_008, "9000000"))
        done = attach("--", "head", "-c", "1", text="x" * 100_000)
        self.assertEqual((done.returncode, done.stdout), (0, "x"), done.stderr)
        with open("/dev/full", "wb") as full:
            command = [str(builds.program("tessera")), "attach", job, "--", "echo", "text"]
            done = subprocess.run(command, env=self.environment(), stdin=subprocess.DEVNULL,
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the output cannot be written: No space left", done.stderr)
        self.assertIn("no-such-program", attach("--", "no-such-program").stderr)
        self.refused(NOT_FOUND, f"--instance: the job {job} has no pod other; it has:\n  {job}-worker-0",
                     "attach", job, "-i", "other")
        done = attach("-c", "other", "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("container other is not valid for pod", done.stderr)
        with Terminal([str(builds.program("tessera")), "attach", job], self.environment()) as shell:
            shell.send("yes\n")
            shell.until("y\r\n" * 100_000)
            shell.send("\3")  # Ctrl-C
            shell.send("stty size; echo $((6 * 7))-; exit 3\n")
            self.assertIn("\n33 77\r\n42-", shell.until_the_end())
            self.assertEqual(shell.status(), 3)

    # ---- tests

    def test_two_workers_of_tensorflow_train_together(self) -> None:
        said = self.submit("tf", "dist", "--workers=2", "--gpumemory=4", "--gang",
                           command="1000000 0.02")
        self.assertRegex(said, r"^job.batch/dist-worker created\nconfigmap/dist-\w+ created\n"
                               r"service/dist created\nThe job dist is submitted\.")
        job = self.becomes("dist", "RUNNING")
        gpus = {pod["gpus"][0]["uuid"] for pod in job["instances"]}
        self.assertEqual(len(gpus), 2, "each worker has a GPU of its own")
        self.assertEqual([pod["chief"] for pod in job["instances"]], [True, False])
        self.assertRegex(self.tessera_says("list"), re.compile(
            r"^dist  RUNNING  TFJOB    \S+ +0 +0\.5 +\S+ +4Gi +N/A$", re.MULTILINE))
        logs = self.cluster.wait_for("both train together", lambda: (
            text if "step 20: " in (text := self.tessera_says("logs", "dist")) else ""), SECONDS)
        self.assertIn(f"worker 0 of 2, holds {2 * GIB} of {4 * GIB} bytes of the GPU", logs)
        top = self.tessera_says("top", "job")
        self.assertRegex(top, re.compile(r"^dist  RUNNING  TFJOB +\S+ +0 +0\.5 +\S+ +4Gi +N/A$",
                                         re.MULTILINE))
        self.assertIn("GPU Memory of Shares of Training Jobs: 8.0/8.0 GiB\n", top)
        details = self.tessera_says("top", "job", "dist")
        for pod in job["instances"]:
            self.assertRegex(details, rf"  {pod['name']}  Running  4Gi +node-a  "
                                      rf"{pod['gpus'][0]['index']} +(?:N/A|\d+\.\d%) +\d+\.0/4096\.0\(MiB\)")
        used = [float(text) for text in re.findall(r"(\d+\.\d)/4096\.0", details)]
        self.assertTrue(all(2048 <= mib <= 4096 for mib in used) and len(used) == 2, details)
        self.assert_attached("dist")
        self.tessera_says("delete", "dist")
        self.assert_nothing_is_left()

    def test_pytorch_and_a_chief_finish(self) -> None:
        self.submit("pytorch", "torch", "--workers=2", "--gpumemory=3")
        self.submit("tf", "chief", "--chief", "--gpumemory=2", "--gpucore=20")
        for name, role in (("torch", "worker"), ("chief", "chief")):
            job = self.becomes(name, "SUCCEEDED")
            self.assertTrue(job["chiefName"].startswith(f"{name}-{role}-0-"))
            self.assertIn(TRAINED, self.tessera_says("logs", name))
        self.assertIn("SUCCEEDED", self.tessera_says("get", "torch"))
        self.assertEqual(self.tessera_says("prune", "--since=1h"), "No job needs to be deleted\n")
        self.cluster.wait_for("both are older than a second", lambda: len(self.tessera_says(
            "prune", "--since=1s", "--dry-run").splitlines()) == 2, SECONDS)
        would_be = self.tessera_says("prune", "--since=1s", "--dry-run", "-T", "pytorch")
        self.assertRegex(would_be, r"^The job torch in namespace default would be deleted "
                                   r"\(SUCCEEDED for \d+s\)\n$")
        # The name is free again at once, although the objects of the first job may still be there.
        pruned = self.tessera_says("prune", "--since=1s").splitlines()
        self.assertEqual([line.split()[2] for line in pruned], ["chief", "torch"])
        self.submit("pytorch", "torch", "--workers=2", "--gpumemory=3")
        self.submit("tf", "chief", "--chief", "--gpumemory=2")
        self.becomes("torch", "SUCCEEDED")
        self.becomes("chief", "SUCCEEDED")

    def jobs_of(self, name: str) -> dict[str, Json]:
        """The Jobs of a training job, by role."""
        selector = f"labelSelector=tessera.dev/job-name={name}"
        jobs = self.api.json("GET", f"{JOBS}?{selector}")["items"]
        return {job["metadata"]["labels"]["tessera.dev/job-role"]: job for job in jobs}

    def test_parameter_servers_end_with_the_job(self) -> None:
        self.submit("tf", "served", "--ps=2", "--workers=2", "--evaluator", "--gpumemory=3",
                    "--gang", "--ps-memory=1Gi", command="200 0.02")
        pods = self.becomes("served", "RUNNING")["instances"]
        self.assertEqual([pod["role"] for pod in pods],
                         ["worker", "worker", "evaluator", "ps", "ps"])
        server = next(pod["name"] for pod in pods if pod["role"] == "ps")
        # A program that runs may have written nothing yet.
        written = self.cluster.wait_for(
            "the server's log", lambda: self.tessera_says("logs", "served", "-i", server), SECONDS)
        self.assertEqual(written.splitlines()[0], "ps 0, holds no GPU")
        self.becomes("served", "SUCCEEDED")
        self.assertIn(TRAINED, self.tessera_says("logs", "served"))

        def ended() -> bool:
            # Kubernetes deletes the other worker if it still runs when the first one has succeeded.
            return {pod["role"] for pod in self.get("served")["instances"]} == {"worker"}
        self.cluster.wait_for("the others have ended", ended, SECONDS)
        jobs = self.jobs_of("served")
        self.assertEqual({role: job["spec"]["suspend"] for role, job in jobs.items()},
                         {"worker": False, "ps": True, "evaluator": True})
        self.assertEqual(self.get("served")["status"], "SUCCEEDED")

    def test_a_parameter_server_that_fails_ends_the_job(self) -> None:
        """Its time to live counts from there."""
        command = """case "$TF_CONFIG" in *'"type":"ps"'*) sleep 5; exit 3;; esac; """ + WAITS
        self.tessera_says("submit", "tf", "--name=down", f"--image={self.image}", "--ps=1",
                          "--chief", "--gpumemory=3", "--ttl-after-finished=20s", "--", command)
        self.becomes("down", "FAILED")
        said = self.cluster.wait_for("why", lambda: text if "was ended" in (
            text := self.tessera_says("get", "down")) else "", SECONDS)
        self.assertIn("job down-chief: it was ended, because the job down-ps failed", said)
        self.assertRegex(said, r"pod down-ps-0-\w+: .*it ended with exit code 3")
        self.cluster.wait_for("the chief has failed", lambda: any(
            condition["type"] == "Failed" for condition in
            self.jobs_of("down")["chief"]["status"]["conditions"]), SECONDS)
        self.cluster.wait_for("all is deleted", lambda: not self.jobs_of("down"), SECONDS)
        self.assert_nothing_is_left()

    def test_other_roles_may_go_on_or_vanish(self) -> None:
        command = """case "$TF_CONFIG" in *'"type":"chief"'*) exit 0;; esac; """ + WAITS
        for policy in ("None", "All"):
            self.tessera_says("submit", "tf", f"--name={policy.lower()}", f"--image={self.image}",
                              "--chief", "--ps=1", f"--clean-task-policy={policy}", "--", command)
        for name in ("none", "all"):
            self.becomes(name, "SUCCEEDED")
        self.cluster.wait_for("the others are deleted", lambda: list(self.jobs_of("all")) == ["chief"],
                              SECONDS)
        self.assertEqual(set(self.jobs_of("none")), {"chief", "ps", "worker"})
        running = [pod["role"] for pod in self.get("none")["instances"]
                   if pod["status"] == "Running"]
        self.assertEqual(running, ["ps", "worker"])

    def test_waiting_and_watching(self) -> None:
        tessera = str(builds.program("tessera"))
        job = ("submit", "job", f"--image={self.image}", "--wait", "--gpumemory=2")
        said = self.tessera_says(*job, "--name=waits", "--", WAITS).splitlines()
        self.assertEqual(said[-1], "waits: RUNNING 1/1 pods run")
        shown = self.tessera_says("get", "waits", "--events", "--gpus")
        self.assertRegex(shown, r"\nGPUs:\n  INSTANCE .*\n  -.*\n  waits-worker-0-\w+ +[\d.]+ +2Gi +\d +")
        self.assertIn("  Allocated/Requested GPU Memory of Job: 2.0/2.0 GiB\n", shown)
        self.assertRegex(shown, r"\nEvents:\n  SOURCE .*\n  -(?s:.*)\n  pod/waits-worker-0-\w+ +Normal +\w+ +"
                                r"\[Scheduled\] Successfully assigned default/waits-worker-0-\w+ to node-a\n")
        self.assertIn("  job/waits-worker ", shown)
        events = json.loads(self.tessera_says("get", "waits", "-e", "-o", "json"))["events"]
        self.assertIn("Scheduled", {event["reason"] for event in events})
        self.assertNotIn("events", self.get("waits"))
        lines = subprocess.Popen([tessera, "list", "--watch"], env=self.environment(), text=True,
                                 stdout=subprocess.PIPE)
        with lines, Terminal([tessera, "get", "waits", "-w"], self.environment()) as screen:
            assert lines.stdout is not None
            self.assertEqual(lines.stdout.readline(), "waits: RUNNING 1/1 pods run\n")
            screen.until("Status:      RUNNING")
            # With the container this command may be killed, too.
            self.run_tessera("attach", "waits", "--", "kill", "-TERM", "1")
            last = screen.until_the_end().rpartition("\x1b[H")[2]
            self.assertIn("Status:      SUCCEEDED", last)
            self.assertEqual(screen.status(), 0, "the job has ended, and so has the view")
            while (line := lines.stdout.readline()) != "waits: SUCCEEDED\n":
                self.assertRegex(line, r"^waits: (PENDING|RUNNING)")
            self.tessera_says("delete", "waits")
            self.assertEqual(lines.stdout.readline(), "waits: is gone\n")
            lines.terminate()
        done = self.run_tessera(*job, "--name=bad", "--gpumemory=1000", "--running-timeout=2s",
                                "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.splitlines()[-1], "^bad: FAILED: job bad-worker: ")
        done = self.run_tessera(*job, "--name=large", "--gpumemory=1000", "--wait-timeout=1s",
                                "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the time of --wait-timeout is over, and the job goes on: PENDING 0/1", done.stderr)

    def test_a_job_that_fails(self) -> None:
        self.tessera_says("submit", "job", "--name=bad", f"--image={self.image}", "--workers=2",
                          "--", "echo $JOB_COMPLETION_INDEX; test $JOB_COMPLETION_INDEX = 0 || exit 3")
        job = self.becomes("bad", "FAILED")
        self.assertIn("it ended with exit code 3", job["reason"])
        self.assertEqual(self.tessera_says("logs", "bad"), "1\n", "of the pod that failed")
        self.assertIn("Why it failed:\n  job bad-worker: ", self.tessera_says("get", "bad"))

    def test_a_job_whose_pods_are_refused(self) -> None:
        """Only events of the Job say why."""
        self.submit("job", "refused", "--priority=nothing")
        self.cluster.wait_for("the reason", lambda: "no PriorityClass with name nothing" in
                              self.get("refused").get("reason", ""), SECONDS)

    def test_a_pod_that_fails_once(self) -> None:
        """Its words reach the shell as they were written."""
        self.tessera_says("submit", "job", "--name=once", f"--image={self.image}", "--retry=1",
                          f"--data-dir={self.cluster.directory}:/data", "--", "[ -f /data/once ]",
                          "||", "{ touch /data/once; exit 1; }")
        self.becomes("once", "SUCCEEDED")

    def test_a_job_that_does_not_fit(self) -> None:
        """Three workers need three GPUs, and there are two."""
        self.submit("pytorch", "three", "--workers=3", "--gpumemory=3", "--gang")
        self.cluster.wait_for("the reason",
                              lambda: "gang" in self.get("three").get("reason", ""), SECONDS)
        self.assertEqual(self.get("three")["status"], "PENDING")
        self.assertIn("Why it waits:\n  pod three-worker-0-", self.tessera_says("get", "three"))

    def test_a_job_in_a_queue(self) -> None:
        self.submit("job", "queued", "--queue=gpus")
        self.becomes("queued", "QUEUING")
        labels = self.api.json("GET", f"{JOBS}/queued-worker")["metadata"]["labels"]
        self.assertEqual(labels["kueue.x-k8s.io/queue-name"], "gpus")

    def test_the_page_of_mistakes(self) -> None:
        path = f"{builds.program('tessera').parent}:{os.environ['PATH']}"
        steps = console_block.steps(builds.ROOT / "docs" / "users" / "mistakes.md", "In one session")
        self.assertEqual(len(steps), 11, "ten mistakes, and the end of a job")
        for step in steps:
            printed = console_block.run(step.command, {**self.environment(), "PATH": path},
                                        self.cluster.directory)
            self.assertEqual(printed, step.printed, step.command)
        self.assert_nothing_is_left()

    def test_mistakes(self) -> None:
        job = ("submit", "tf", "--name=mistake", f"--image={self.image}")
        self.refused(USAGE, "command: is missing", *job)
        self.refused(USAGE, "--gpus: cannot be used with --gpumemory", *job, "--gpus=1",
                     "--gpumemory=3", "--", "true")
        self.refused(USAGE, "--running-timeout: \"5\" is not a duration", *job,
                     "--running-timeout=5", "--", "true")
        self.refused(USAGE, "has 60 characters, and may have at most 49", "submit", "job",
                     "--name=" + 60 * "a", "--image=x", "--", "true")
        self.refused(NOT_FOUND, "there is no training job nothing in namespace default", "get",
                     "nothing")
        self.refused(NOT_FOUND, "there is no training job nothing", "get", "nothing", "--watch")
        self.refused(USAGE, "--watch is for text; leave out --output", "list", "--watch", "-o", "json")
        self.refused(USAGE, "--wait-timeout: needs --wait", *job, "--wait-timeout=5s", "--", "true")
        self.refused(NOT_FOUND, "--backend: the cluster has no Kubeflow Trainer", *job,
                     "--backend=trainjob", "--", "true")
        self.submit("job", "once")
        self.refused(CONFLICT, "the training job once exists already", "submit", "job",
                     "--name=once", "--image=x", "--", "true")
        # A Service of a user has the name that the job's host names need.
        self.cluster.kubectl("create", "service", "clusterip", "taken", "--tcp=80")
        self.refused(CONFLICT, "services taken exists already in namespace default, and does not "
                               "belong to this job", "submit", "pytorch", "--name=taken",
                     "--image=x", "--workers=2", "--", "true")
        self.cluster.kubectl("delete", "service", "taken")
        self.tessera_says("delete", "once")
        self.assert_nothing_is_left()
