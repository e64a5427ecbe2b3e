"""`tessera run` as a user sees it: the share, refusals, exit statuses, signals, the list, and leases
whose processes were killed."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from workstation.machine import (BIN, GIB, GPU_BYTES, PATIENCE, Hog, Machine, Process, children,
                                 soon)

HOG = str(BIN / "gpuhog")


class RunCase(unittest.TestCase):
    def setUp(self) -> None:
        self.machine = Machine()
        self.addCleanup(self.machine.close)

    def hog(self, size: str, *options: str) -> Hog:
        hog = self.machine.hog(size, *options)
        self.addCleanup(hog.program.kill)
        return hog

    def only_run(self) -> str:
        """The id of the only live run."""
        run, = self.machine.runs()
        return str(run["id"])

    def ends(self) -> None:
        """The machine has no run any more."""
        soon(self.machine.is_empty, "no run is left")


class Share(RunCase):
    def test_device(self) -> None:
        """The program sees its share as the whole memory of the only GPU, in CUDA and in NVML."""
        done = self.machine.run("--memory", "4Gi", "--", HOG, "--once", "3GiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("devices: 1\n", done.stdout)
        self.assertIn(f"total {4 * GIB} bytes\n", done.stdout)
        self.assertRegex(done.stderr, r"^tessera run: GPU 0: used up to 3Gi of 4Gi, ran for .*s\n$")
        seen = self.machine.run("--memory=4Gi", "--quiet", "--", BIN / "gpusmi")
        self.assertIn(f"used 0 of {4 * GIB} bytes", seen.stdout)
        self.assertEqual(seen.stderr, "")
        self.ends()

    def test_memory_limit(self) -> None:
        """More than the share is refused by the guard, and the last line says so."""
        done = self.machine.run("--memory", "4Gi", "--", HOG, "--once", "4100MiB")
        self.assertEqual(done.returncode, 1)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", done.stderr)
        self.assertIn("(1 allocations refused)", done.stderr)
        self.ends()

    def test_environment(self) -> None:
        """The variables of a container with a share, and the input of the program."""
        done = self.machine.run("--memory", "4Gi", "--gpu", "1", "-q", "--", "sh", "-c", "cat; env",
                                stdin="input\n")
        variables = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertTrue(done.stdout.startswith("input\n"))
        self.assertEqual(variables["TESSERA_GPU_MEMORY_BYTES"], str(4 * GIB))
        self.assertEqual(variables["TESSERA_GPU_VISIBLE_MEMORY_BYTES"], str(4 * GIB))
        self.assertEqual(variables["CUDA_VISIBLE_DEVICES"], variables["NVIDIA_VISIBLE_DEVICES"])
        self.assertTrue(variables["CUDA_VISIBLE_DEVICES"].startswith("GPU-"))
        self.assertIn("/libtessera-guard.so", variables["LD_PRELOAD"])

    def test_the_example_of_its_help(self) -> None:
        """Where python is, there is a train.py."""
        tessera = BIN / "tessera"
        shown = subprocess.run([tessera, "run", "--help"], capture_output=True, text=True, check=True)
        example, = (line.removeprefix("Example: ") for line in shown.stdout.splitlines()
                    if line.startswith("Example: "))
        folder = self.machine.folder
        (folder / "train.py").write_text("import os; print(os.environ['TESSERA_GPU_MEMORY_BYTES'])",
                                         encoding="utf-8")
        (folder / "python").symlink_to(sys.executable)
        environment = {**self.machine.environment, "PATH": f"{folder}:{BIN}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", example], cwd=folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        self.assertIn(f"{4 * GIB}\n", done.stdout, done.stderr)

    def test_time_is_shared(self) -> None:
        """One process divides the GPU's time; if it is killed, another run's supervisor goes on."""
        hogs = [self.hog("1GiB", "--memory=2Gi", "--gpu=0", f"--cores={cores}", "--quiet")
                for cores in (30, 60)]
        supervisors = {hog.supervisor.pid: hog for hog in hogs}
        soon(lambda: self._arbiter() in supervisors, "a supervisor divides time")
        first = supervisors.pop(self._arbiter())
        first.supervisor.kill()
        soon(lambda: self._arbiter() not in (0, first.supervisor.pid), "another process divides time")
        for hog in hogs:
            self.assertEqual(hog.close(), "")
        self.ends()

    def _arbiter(self) -> int:
        """The pid of the process that has the lock; 0: none."""
        path, = self.machine.state.glob("arbiter-*")
        inode = f":{path.stat().st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if "->" not in words and words[1] == "FLOCK" and words[5].endswith(inode):
                return int(words[4])
        return 0


class Refused(RunCase):
    def refused(self, status: int, text: str, *arguments: str) -> None:
        done = self.machine.run(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_closest_gpu(self) -> None:
        hogs = [self.hog("1GiB", "--memory=10Gi", "--cores=70", "--quiet", "--gpu=0"),
                self.hog("1GiB", "--memory=12Gi", "--quiet", "--gpu=1")]
        self.refused(4, "no GPU has 6Gi free; GPU 0 (Tesla T4) comes closest: 5Gi of its 15Gi are "
                     "free: 1 run has 10Gi; wait for it with --wait", "--memory=6Gi", "--", "true")
        self.refused(4, "GPU 1 (Tesla T4): 3Gi of its 15Gi are free",
                     "--memory=6Gi", "--gpu=1", "--", "true")
        self.refused(4, "30 of its 100 percent of compute are free",
                     "--memory=1Gi", "--cores=31", "--gpu=0", "--", "true")
        self.refused(2, "no GPU has 16Gi; the largest is GPU 0 (Tesla T4) with 15Gi",
                     "--memory=16Gi", "--wait", "--", "true")
        self.refused(2, 'no GPU "7"', "--memory=1Gi", "--gpu=7", "--", "true")
        for hog in hogs:
            hog.close()
        self.ends()

    def test_wait(self) -> None:
        """A run that waits says why, and starts as soon as the share is free."""
        hog = self.hog("1GiB", "--memory=10Gi", "--quiet", "--gpu=0")
        waiting = self.machine.start("--wait", "--memory=6Gi", "--gpu=0", "--", "echo", "started")
        assert waiting.stderr is not None
        self.assertRegex(waiting.stderr.readline(), "^tessera run: waiting: no GPU has 6Gi free; ")
        self.assertEqual(len(self.machine.runs()), 1)
        hog.close()
        output, errors = waiting.communicate()
        self.assertEqual((output, waiting.returncode), ("started\n", 0), errors)
        self.ends()

    def test_other_processes(self) -> None:
        """Memory of processes outside of runs is not given away."""
        other = subprocess.Popen([HOG, "10GiB"], env=self.machine.environment, text=True,
                                 stdout=subprocess.PIPE)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        assert other.stdout is not None
        self.addCleanup(other.stdout.close)
        soon(lambda: other.stdout is not None and "memory:" in other.stdout.readline(), "memory")
        self.assertEqual(self.machine.run("--memory=6Gi", "-q", "--", "true").returncode, 0)
        self.refused(4, "and processes outside of tessera run use 10Gi",
                     "--memory=6Gi", "--gpu=0", "--", "true")

    def test_wrong_use(self) -> None:
        self.refused(2, "--memory: missing", "--", "true")
        self.refused(2, "no program", "--memory=4Gi")
        self.refused(2, "has a blank or a colon",
                     "--memory=4Gi", f"--state={self.machine.folder}/a b", "--", "true")
        self.refused(3, "the program tessera-run is not in /nowhere", "--memory=4Gi",
                     "--helper-folder=/nowhere", "--", "true")
        self.refused(6, "install NVIDIA's driver", "--memory=4Gi", "--driver-root=/nowhere", "--", "true")
        self.refused(4, "inside of the run", "--memory=1Gi", "-q", "--", str(BIN / "tessera"),
                     "run", "--memory=1Gi", "--", "true")


class Ends(RunCase):
    def status(self, *words: str) -> int:
        return self.machine.run("--memory=1Gi", "--quiet", "--", *words).returncode

    def test_status(self) -> None:
        self.assertEqual(self.status("true"), 0)
        self.assertEqual(self.status("sh", "-c", "exit 7"), 7)
        self.assertEqual(self.status("sh", "-c", "kill -9 $$"), 137)
        self.assertEqual(self.status("no-such-program"), 127)
        self.assertEqual(self.status("/etc/passwd"), 126)
        self.ends()

    def test_signals(self) -> None:
        """Signals to tessera run are for the program."""
        script = "trap 'echo got $s; exit 3' {0}; s={0}; echo ready; while :; do sleep 0.05; done"
        for name in ("INT", "TERM", "HUP", "USR1"):
            front = self.machine.start("--memory=1Gi", "-q", "--", "sh", "-c", script.format(name))
            assert front.stdout is not None
            self.assertEqual(front.stdout.readline(), "ready\n")
            front.send_signal(getattr(signal, f"SIG{name}"))
            output, errors = front.communicate()
            self.assertEqual((output, front.returncode, errors), (f"got {name}\n", 3, ""))
        self.ends()

    def test_terminal(self) -> None:
        """The terminal sends Ctrl-C to the program itself, so that it gets the signal once."""
        script = "trap 'echo got' INT; echo ready; sleep 1; sleep 1; sleep 1; exit 3"
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(BIN / "tessera", ["tessera", "run", "--memory=1Gi", "-q", "--", "sh", "-c",
                                        script], self.machine.environment)
        output = b""
        try:
            while chunk := os.read(terminal, 1024):
                if b"ready" not in output and b"ready" in output + chunk:
                    os.write(terminal, b"\x03")
                output += chunk
        except OSError:  # the terminal has no process any more
            pass
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 3, output)
        self.assertEqual(output.count(b"got"), 1, output)
        self.ends()

    def test_program_without_parents(self) -> None:
        """A program whose parents were killed has its share until it ends, and no other run gets
        it."""
        hog = self.hog("1GiB", "--memory=10Gi", "--gpu=0", "--quiet")
        hog.kill_parents()
        run, = self.machine.runs()
        self.assertEqual((run["pid"], run["programAlive"]), (hog.program.pid, True))
        refused = self.machine.run("--memory=6Gi", "--gpu=0", "--", "true")
        self.assertEqual(refused.returncode, 4)
        hog.close()
        self.ends()

    def test_closed_descriptors(self) -> None:
        """The same for a program that has closed all descriptors: it uses the GPU."""
        code = f"import os; os.closerange(3, 4096); os.execv({HOG!r}, ['gpuhog', '1GiB'])"
        hog = self.machine.started(self.machine.start(
            "--memory=10Gi", "--gpu=0", "--quiet", "--", sys.executable, "-c", code))
        self.addCleanup(hog.program.kill)
        hog.kill_parents()
        self.assertEqual(len(self.machine.runs()), 1)
        hog.close()
        self.ends()

    def without_parents_and_descriptors(self) -> subprocess.Popen[str]:
        """The front of a run that was killed with its supervisor. The program has closed all
        descriptors, does not use the GPU, and starts gpuhog when it can read a line."""
        code = ("import os, subprocess, sys; os.closerange(3, 4096); print('ready', flush=True); "
                f"sys.stdin.readline(); sys.exit(subprocess.call([{HOG!r}, '--once', '1GiB']))")
        front = self.machine.start("--memory=10Gi", "--gpu=0", "-q", "--", sys.executable, "-c",
                                   code)
        assert front.stdout is not None
        self.assertEqual(front.stdout.readline(), "ready\n")
        supervisor, = map(Process, children(front.pid))
        front.kill()
        supervisor.kill()
        soon(lambda: not supervisor.is_alive(), "the supervisor is dead")
        supervisor.close()
        return front

    def test_hidden_process(self) -> None:
        """A process that has closed all descriptors and does not use the GPU has its share, too."""
        front = self.without_parents_and_descriptors()
        self.assertEqual(len(self.machine.runs()), 1)
        output, errors = front.communicate("\n")
        self.assertIn(f"allocated {GIB} bytes", output, errors)
        self.ends()

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to act as another user")
    def test_hidden_process_of_another_user(self) -> None:
        """Other users do not see such a process. Its share is released, and the guard refuses the
        GPU to it."""
        self.machine.folder.chmod(0o755)
        front = self.without_parents_and_descriptors()
        self.assertEqual(self.machine.runs_as_nobody(), [])
        self.assertEqual(self.machine.runs(), [])
        errors = front.communicate("\n")[1]
        self.assertIn("tessera-guard: no GPU for this process", errors)
        self.ends()

    def test_background_process(self) -> None:
        """The share lasts until the last process of the run has ended."""
        front = self.machine.start("--memory=10Gi", "--gpu=0", "--", "sh", "-c",
                                   f"{HOG} 1GiB > /dev/null 2>&1 & echo $!")
        output, errors = front.communicate()
        hog = Process(int(output))
        self.addCleanup(hog.close)
        self.assertEqual(front.returncode, 0)
        self.assertIn("processes that the program started are alive", errors)
        run, = self.machine.runs()
        self.assertFalse(run["programAlive"])
        self.assertEqual(self.machine.run("--memory=6Gi", "--gpu=0", "--", "true").returncode, 4)
        hog.kill()
        self.ends()


class Lists(RunCase):
    def test_list(self) -> None:
        self.assertEqual(self.machine.runs(), [])
        self.assertFalse(self.machine.state.exists())
        hog = self.hog("1GiB", "--memory=4Gi", "--cores=30", "--compute-limit=60", "--quiet")
        run, = self.machine.runs()
        expected = {"gpu": hog.gpu, "gpuIndex": 0, "memoryBytes": 4 * GIB, "coresPercent": 30,
                    "coresLimitPercent": 60, "pid": hog.program.pid, "programAlive": True,
                    "usedBytes": GIB, "refusals": 0, "damaged": False, "command": f"{HOG} 1GiB"}
        self.assertEqual({name: run[name] for name in expected}, expected)
        lines = self.machine.run("--list").stdout.splitlines()
        self.assertEqual(lines[0].split(), ["RUN", "GPU", "MEMORY", "USED", "REFUSED", "CORES%",
                                            "CORES-LIMIT%", "USER", "PID", "COMMAND"])
        self.assertEqual(lines[1].split()[1:7], ["0", "4Gi", "1Gi", "0", "30", "60"])
        hog.close()
        self.ends()

    def test_unreadable_lease(self) -> None:
        """A lease that cannot be read may be of any share: nothing is decided until its run is
        gone."""
        hog = self.hog("1GiB", "--memory=4Gi", "--quiet")
        lease = self.machine.state / "runs" / self.only_run() / "lease"
        text = lease.read_text()
        lease.write_text(json.dumps({**json.loads(text), "memoryBytes": -1}))
        for arguments in (["--list"], ["--memory=1Gi", "--", "true"]):
            done = self.machine.run(*arguments)
            self.assertEqual(done.returncode, 65)
            self.assertIn(f"{lease}: memoryBytes: is not a whole number", done.stderr)
            self.assertIn("end the processes of this run", done.stderr)
        hog.close()
        self.ends()

    def test_foreign_folder(self) -> None:
        self.assertEqual(self.machine.run("--memory=1Gi", "-q", "--", "true").returncode, 0)
        (self.machine.state / "runs" / "mine").mkdir()
        done = self.machine.run("--list")
        self.assertEqual(done.returncode, 65)
        self.assertIn("runs/mine is no folder of a run", done.stderr)

    def test_capacity(self) -> None:
        """One run can have a whole GPU."""
        done = self.machine.run(f"--memory={GPU_BYTES}", "--cores=100", "-q", "--", HOG, "--once",
                                "14GiB")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
