"""gpusim's MPS daemon beside its answers: files, locks, users, servers with GPUs, stopped and killed
processes, and peers that send garbage."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import unittest
from pathlib import Path

from mps.programs import OTHER_USER, PATIENCE, Daemon, simulated, soon
from mps.transcript import unprivileged_steps

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release"))
LOG_LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (Control|Other  ) +\d+\] .+")
FLOCK = "hhqqi4x"  # struct flock of 64-bit Linux


class DaemonCase(unittest.TestCase):
    version = "550"

    def daemon(self, mode: int = 0o700, **environment: str) -> Daemon:
        """A daemon that runs."""
        made = Daemon(simulated(BUILD, self.version, **environment), mode)
        self.addCleanup(made.close)
        made.start()
        return made

    def daemon_with_gpus(self) -> Daemon:
        """A daemon on a node with two simulated GPUs."""
        made = self.daemon(mode=0o755)
        made.stop()
        root = made.scratch / "driver"
        subprocess.run([BUILD / "bin" / "gpusimctl", "create", ROOT / "gpusim/gpus/two-15gib.yaml",
                        root], check=True, stdout=subprocess.DEVNULL)
        # The programs of the driver root find its GPUs.
        made.program = root / "usr/bin" / made.program.name
        del made.environment["GPUSIM_DIR"]
        made.start()
        return made

    def server(self, daemon: Daemon, uid: int = 0) -> str:
        """Starts a server; its pid."""
        before = set(daemon.command("get_server_list").text.split())
        self.assertEqual(daemon.command(f"start_server -uid {uid}").text, "")
        pid, = set(daemon.command("get_server_list").text.split()) - before
        return pid

    def test_others_see_who_holds_the_lock(self) -> None:
        daemon = self.daemon()
        assert daemon.process is not None
        with (daemon.pipe / "control_lock").open("r+b") as lock:
            asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, start, length, pid = struct.unpack(
                FLOCK, fcntl.fcntl(lock, fcntl.F_GETLK, asked))
        self.assertEqual((kind, start, length, pid),
                         (fcntl.F_WRLCK, 0, 0, daemon.process.pid))
        self.assertEqual((daemon.pipe / "nvidia-cuda-mps-control.pid").read_text(),
                         str(daemon.process.pid))

    def test_the_log_in_the_foreground(self) -> None:
        daemon = self.daemon()
        daemon.command("get_server_list")
        daemon.command("bogus")
        soon(lambda: daemon.logged().endswith("UI closed\n"), "the front end is gone")
        lines = daemon.logged().splitlines()
        for line in lines:
            self.assertRegex(line, LOG_LINE)
        texts = [line.split("] ", 1)[1] for line in lines]
        self.assertEqual(texts[:2], [
            f"Starting control daemon using socket {daemon.pipe}/control",
            "To connect CUDA applications to this daemon, set env "
            f"CUDA_MPS_PIPE_DIRECTORY={daemon.pipe}"])
        # The front end may be gone before the daemon says so.
        at = texts.index("Cmd:bogus")
        self.assertEqual(texts[at - 2:at + 2], ["Accepting connection...", "NEW UI", "Cmd:bogus",
                                                'Unknown command "bogus"'])
        self.assertEqual(list(daemon.log.iterdir()), [])

    def test_in_the_background(self) -> None:
        daemon = self.daemon()
        daemon.stop()
        done = subprocess.run([daemon.program, "-d"], env=daemon.environment, check=False,
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        self.assertEqual(daemon.command("get_default_client_priority").text, "0\n")
        second = subprocess.run([daemon.program, "-d"], env=daemon.environment, check=False,
                                capture_output=True, timeout=PATIENCE)
        self.assertEqual((second.returncode, second.stdout),
                         (1, b"An instance of this daemon is already running\n"))
        self.assertEqual(daemon.command("quit").status, 0)
        self.assertIn("Cmd:quit\n", (daemon.log / "control.log").read_text())
        self.assertTrue((daemon.log / "server.log").exists())

    def test_a_log_directory_that_cannot_be_written(self) -> None:
        daemon = Daemon(simulated(BUILD, self.version))
        self.addCleanup(daemon.close)
        daemon.environment["CUDA_MPS_LOG_DIRECTORY"] = "/proc/nothing"
        daemon.start()
        self.assertTrue(daemon.logged().startswith(
            "Warning: Failed writing log files to directory [/proc/nothing]. "
            "No logs will be available.\n"))

    def test_a_pipe_directory_that_cannot_be_made(self) -> None:
        daemon = Daemon(simulated(BUILD, self.version))
        self.addCleanup(daemon.close)
        daemon.environment["CUDA_MPS_PIPE_DIRECTORY"] = "/proc/nothing"
        for option in ("-f", "-d"):
            done = subprocess.run([daemon.program, option], env=daemon.environment, check=False,
                                  capture_output=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout),
                             (1, b"Cannot access CUDA_MPS_PIPE_DIRECTORY=/proc/nothing\n"))

    def test_a_stopped_daemon_outlives_its_front_ends(self) -> None:
        daemon = self.daemon()
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGSTOP)
        with subprocess.Popen([daemon.program], env=daemon.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as front_end:
            assert front_end.stdin is not None
            front_end.stdin.write(b"set_default_active_thread_percentage 25\nbogus\n")
            front_end.stdin.flush()
            with self.assertRaises(subprocess.TimeoutExpired):
                front_end.wait(0.3)
            front_end.kill()
        daemon.process.send_signal(signal.SIGCONT)
        self.assertEqual(daemon.command("get_default_active_thread_percentage").text, "25.0\n")

    def test_garbage_and_silence(self) -> None:
        daemon = self.daemon()
        peers = []
        # More than the daemon keeps.
        for text in [b"", b"U", b"Uget_server", b"x", b"\0" * 9000, b"U" + b"y" * 9000,
                     b"U" + b"get_server_list\n" * 5000, os.urandom(3000)] * 40:
            peer = socket.socket(socket.AF_UNIX)
            self.addCleanup(peer.close)
            peer.connect(str(daemon.pipe / "control"))
            try:
                peer.setblocking(False)
                peer.send(text)
            except OSError:
                pass  # the daemon hung up
            peers.append(peer)
        self.assertEqual(daemon.command("get_default_client_priority").text, "0\n")
        for peer in peers:
            peer.close()
        self.assertEqual(daemon.command("get_default_client_priority").text, "0\n")
        self.assertEqual(daemon.send(b"get_default_client_priority\0x\n" + b"x" * 90_000).status, 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs root for another user")
    def test_other_users(self) -> None:
        steps = {step.what: step.text for step in
                 unprivileged_steps(simulated(BUILD, self.version))}
        refused = "Insufficient privileges for UID {}. Control deamon settings can only be " \
                  "modified by the user started it or by the root user.\n[exit 0]\n"
        change = "set_default_active_thread_percentage 25"
        self.assertEqual(steps[f"UID {OTHER_USER}: {change}"], refused.format(OTHER_USER))
        self.assertEqual(steps[f"root at `control`: {change}"], refused.format(0))
        self.assertEqual(steps[f"UID {OTHER_USER}: quit"],
                         "Not enough privilege to execute quit command\n[exit 0]\n")

    def test_servers_copy_the_defaults(self) -> None:
        daemon = self.daemon_with_gpus()
        daemon.command("set_default_active_thread_percentage 25")
        daemon.command("set_default_device_pinned_mem_limit 1 2G")
        pid = self.server(daemon)
        daemon.command("set_default_active_thread_percentage 50")
        daemon.command("set_default_device_pinned_mem_limit 1 4G")
        self.assertEqual(daemon.command(f"get_server_status {pid}").text, "ACTIVE\n")
        self.assertEqual(daemon.command(f"get_active_thread_percentage {pid}").text, "25.0\n")
        self.assertEqual(daemon.command(f"get_device_pinned_mem_limit {pid} 1").text, "2G\n")
        # The node has two GPUs.
        daemon.command(f"set_device_pinned_mem_limit {pid} 2 3G")
        self.assertEqual(daemon.command(f"get_device_pinned_mem_limit {pid} 2").text, "")

    def test_a_killed_server_leaves_the_list(self) -> None:
        daemon = self.daemon_with_gpus()
        pid = self.server(daemon)
        self.assertEqual(Path("/proc", pid, "comm").read_text(), "nvidia-cuda-mps\n")
        os.kill(int(pid), signal.SIGKILL)
        soon(lambda: daemon.command("get_server_list").text == "", "the list is empty")
        self.assertIn(f"Server {pid} exited with status 0\n", daemon.logged())

    @unittest.skipUnless(os.geteuid() == 0, "needs root for another user")
    def test_servers_of_two_users(self) -> None:
        daemon = self.daemon_with_gpus()
        mine, other = self.server(daemon), self.server(daemon, OTHER_USER)
        self.assertEqual(Path("/proc", other).stat().st_uid, OTHER_USER)
        self.assertEqual(daemon.command("get_server_list").text, f"{mine}\n{other}\n")
        self.assertEqual(daemon.command(f"shutdown_server {mine} -f").text, "")
        soon(lambda: daemon.command("get_server_list").text == f"{other}\n", "one server is left")

    def test_quit_ends_servers(self) -> None:
        daemon = self.daemon_with_gpus()
        pids = [self.server(daemon)]
        if os.geteuid() == 0:
            pids.append(self.server(daemon, OTHER_USER))
        os.kill(int(pids[0]), signal.SIGSTOP)
        self.assertEqual(daemon.command("quit -t 1").status, 0)
        for pid in pids:
            self.assertFalse(Path("/proc", pid).exists())

    def test_servers_end_with_their_daemon(self) -> None:
        daemon = self.daemon_with_gpus()
        pid = self.server(daemon)
        daemon.stop(signal.SIGKILL)
        soon(lambda: not Path("/proc", pid).exists() or
             ") Z " in Path("/proc", pid, "stat").read_text(), "the server is gone")

    def test_without_a_gpu_servers_fail(self) -> None:
        daemon = self.daemon(mode=0o755)
        self.assertEqual(daemon.command("start_server -uid 0").text, "")
        self.assertEqual(daemon.command("get_server_list").text, "")
        self.assertIn("exited with status 1\n", daemon.logged())
        self.assertEqual(daemon.command("quit").status, 1)  # as the daemon's
        assert daemon.process is not None
        self.assertEqual(daemon.process.wait(PATIENCE), 1)


if __name__ == "__main__":
    unittest.main()
