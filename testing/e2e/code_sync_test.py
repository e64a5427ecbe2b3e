"""`tessera submit --sync-mode git` on a real cluster: code of a branch, with a password, and what the
user sees while git-sync runs and when it fails.

The registries that this project uses do not serve git-sync. So the image has Debian's git, and an
entry point that follows git-sync's documented variables (training/git-sync). Git speaks its own
protocol with a server of its own (training/git_server.py). Ssh is not tested.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, ClassVar

from e2e.case import PODS
from e2e.training_case import SECONDS, TrainingCase
from kube import images, network
from stack import builds

Json = dict[str, Any]
TRAINING = builds.ROOT / "testing" / "training"
USAGE = 2  # exit status
SERVER = "git-server"


def git(folder: Path, *arguments: str) -> str:
    """Runs git in a folder, as a user with a name."""
    line = ["git", "-C", str(folder), "-c", "user.name=test", "-c", "user.email=test@example.com",
            *arguments]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


class CodeSyncTest(TrainingCase):
    image: ClassVar[str]
    git_sync: ClassVar[str]
    folder: ClassVar[Path]  # of the repositories
    url: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        push = cls.stack.registry.push
        cls.image = push(images.python_archive(), "python:test")
        cls.git_sync = push(images.git_sync_archive(TRAINING / "git-sync"), "git-sync:test")
        cls.folder = cls.cluster.directory / "git"
        for parent in ("", "private", "slow"):
            cls.make_repository(cls.folder / parent / "train.git")
        address, port = network.node_address(cls.cluster.slot, 0), cls.cluster.free_port()
        cls.url = f"http://{address}:{port}"
        cls.cluster.start_program(SERVER, [
            "/usr/bin/python3", str(TRAINING / "git_server.py"), address, str(port),
            str(cls.folder), "ada:lovelace"])
        cls.cluster.wait_for("the git server", lambda: "serving" in cls.cluster.logs(SERVER))

    @classmethod
    def make_repository(cls, path: Path) -> None:
        """A repository whose program prints the name of its branch or tag."""
        path.mkdir(parents=True)
        git(path, "init", "-q", "--initial-branch=main", ".")
        for name in ("main", "fast"):
            if name != "main":
                git(path, "checkout", "-q", "-b", name)
            (path / "train.py").write_text(f"print('trained by {name}')\n")
            git(path, "add", "train.py")
            git(path, "commit", "-q", "-m", name)
        git(path, "tag", "v1", "main")
        git(path, "checkout", "-q", "main")
        git(path, "config", "uploadpack.allowAnySHA1InWant", "true")

    # ---- tools

    def submit(self, name: str, *flags: str, source: str = "train.git",
               command: str = "exec python3 code/train/train.py") -> None:
        self.tessera_says("submit", "job", f"--name={name}", f"--image={self.image}",
                          "--sync-mode=git", f"--sync-source={self.url}/{source}",
                          f"--sync-image={self.git_sync}", *flags, "--", command)

    def pod_of(self, job: Json) -> Json:
        found: Json = self.api.json("GET", f"{PODS}/{job['instances'][0]['name']}")
        return found

    # ---- tests

    def test_branches_tags_and_commits(self) -> None:
        commit = git(self.folder / "train.git", "rev-parse", "fast")
        self.submit("default", "--gpumemory=2")
        self.submit("branch", "--sync-branch=fast", "--working-dir=/tmp")
        self.submit("arena", "--env=GIT_SYNC_BRANCH=fast", "--env=GITSYNC_REF=fast", command=(
            "env | grep -i sync; cat code/train/train.py; pwd; exec python3 code/train/train.py"))
        self.submit("tag", "--sync-revision=v1")
        self.submit("commit", f"--sync-revision={commit}")
        for name, said in (("default", "main"), ("branch", "fast"), ("arena", "fast"),
                           ("tag", "main"), ("commit", "fast")):
            job = self.becomes(name, "SUCCEEDED")
            text = self.tessera_says("logs", name)
            self.assertIn(f"trained by {said}\n", text)
            if name == "arena":
                self.assertEqual(text, "print('trained by fast')\n/root\ntrained by fast\n",
                                 "no variable of git-sync reaches the program")
            if name == "default":
                self.assertEqual(len(job["instances"][0]["gpus"]), 1)
                code = self.pod_of(job)["status"]["initContainerStatuses"][0]
                self.assertEqual(code["name"], "init-code")
        self.assertIn("updated successfully", self.tessera_says("logs", "tag", "-c", "init-code"))

    def test_a_private_repository(self) -> None:
        """The password reaches git-sync, but neither the program nor the pod's own text."""
        self.cluster.kubectl("create", "secret", "generic", "git-token",
                             "--from-literal=username=ada", "--from-literal=password=lovelace")
        self.submit("private", "--sync-secret=git-token", source="private/train.git",
                    command="env; cat /proc/mounts; exec python3 code/train/train.py")
        job = self.becomes("private", "SUCCEEDED")
        text = self.tessera_says("logs", "private")
        self.assertTrue(text.endswith("trained by main\n"), text)
        self.assertNotIn("lovelace", text + json.dumps(self.pod_of(job)))
        # Without the Secret git-sync fails, and its log is what the user sees.
        self.submit("closed", source="private/train.git")
        reason = self.becomes("closed", "FAILED")["reason"]
        self.assertIn("container init-code: it ended with exit code 1", reason)
        self.assertIn("see tessera logs closed, and check --sync-source, --sync-branch, "
                      "--sync-revision and --sync-secret", reason)
        self.assertIn("Init:Error", self.tessera_says("get", "closed"))
        done = self.run_tessera("logs", "closed")
        self.assertRegex(done.stdout, r"cannot fetch HEAD of \S+ \(3 failures\)")
        self.assertIn("this is the log of container init-code", done.stderr)
        # A Secret that does not exist.
        self.submit("missing", "--sync-secret=missing", source="private/train.git")
        self.cluster.wait_for("the reason", lambda: "secret \"missing\" not found; check the Secret "
                              "of --sync-secret" in self.tessera_says("get", "missing"), SECONDS)

    def test_the_log_while_git_sync_runs(self) -> None:
        self.submit("slow", source="slow/train.git")
        def runs() -> bool:
            self.becomes("slow", "PENDING")
            return "syncing git" in self.run_tessera("logs", "slow").stdout
        self.cluster.wait_for("git-sync runs", runs, SECONDS)
        shown = self.tessera_says("get", "slow")
        self.assertIn("Init:0/1", shown)
        self.assertIn("container init-code runs, and the others start after it; it copies the code "
                      "from git, see tessera logs slow", shown)
        follow = subprocess.Popen([str(builds.program("tessera")), "logs", "slow", "-f"], text=True,
                                  env=self.environment(), stdout=subprocess.PIPE)
        (self.folder / "go").touch()
        text, _ = follow.communicate(timeout=SECONDS * 5)
        self.assertIn("updated successfully", text)
        self.assertTrue(text.endswith("trained by main\n"), text)
        self.assertEqual(follow.returncode, 0)

    def test_mistakes(self) -> None:
        job = ("submit", "tf", "--name=mistake", "--image=x", "--sync-mode=git")
        words = ("--", "true")
        self.refused(USAGE, "--sync-source: has a user name or a password in it", *job,
                     "--sync-source=https://ada:lovelace@example.com/train.git", *words)
        self.refused(USAGE, "--sync-mode: rsync is not supported", *job, "--sync-mode=rsync", *words)
        self.refused(USAGE, "--sync-secret: is missing: ssh needs a Secret", *job,
                     "--sync-source=git@example.com:team/train.git", *words)
        printed = self.tessera_says(*job, "--sync-source=https://example.com/train.git",
                                    "--dry-run", *words)
        self.assertIn("registry.k8s.io/git-sync/git-sync:v4", printed)
