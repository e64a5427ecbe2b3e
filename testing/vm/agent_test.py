"""The client of the guest agent, against a fake agent."""

from __future__ import annotations

import base64
import json
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

from kube.errors import CommandError
from vm.agent import AgentError, GuestAgent


class FakeAgent:
    """Answers one request per connection after guest-sync, as QEMU's agent does. Before each answer
    to guest-sync it sends a late answer to an older request."""

    def __init__(self, path: Path, answers: list[dict[str, Any]]) -> None:
        self.answers = answers
        self.requests: list[dict[str, Any]] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def join(self) -> None:
        """Waits until all answers are given."""
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        for answer in self.answers:
            connection, _ = self._server.accept()
            with connection, connection.makefile("rwb") as file:
                sync = json.loads(file.readline().lstrip(b"\xff"))
                for late in ({"return": {"pid": 1}}, {"return": sync["arguments"]["id"]}):
                    file.write(json.dumps(late).encode() + b"\n")
                file.flush()
                self.requests.append(json.loads(file.readline()))
                file.write(json.dumps(answer).encode() + b"\n")
                file.flush()


class AgentTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "socket")

    def fake(self, *answers: dict[str, Any]) -> FakeAgent:
        agent = FakeAgent(self.path, list(answers))
        self.addCleanup(agent.join)
        return agent

    def test_the_output_of_a_command(self) -> None:
        out = base64.b64encode(b"cgroup2fs\n").decode()
        agent = self.fake({"return": {"pid": 7}}, {"return": {"exited": False}},
                          {"return": {"exited": True, "exitcode": 0, "out-data": out}})
        self.assertEqual(GuestAgent(self.path).run("stat", "-fc", "%T", "/", timeout=60),
                         "cgroup2fs\n")
        self.assertEqual([request["execute"] for request in agent.requests],
                         ["guest-exec", "guest-exec-status", "guest-exec-status"])
        self.assertEqual(agent.requests[0]["arguments"]["arg"], ["-fc", "%T", "/"])

    def test_a_command_that_fails(self) -> None:
        error = base64.b64encode(b"no such unit").decode()
        self.fake({"return": {"pid": 7}},
                  {"return": {"exited": True, "exitcode": 5, "err-data": error}})
        with self.assertRaisesRegex(CommandError, "ended with 5: no such unit"):
            GuestAgent(self.path).run("systemctl", timeout=60)

    def test_a_refused_request_and_no_agent(self) -> None:
        with self.assertRaisesRegex(AgentError, "does not answer guest-exec"):
            GuestAgent(self.path).run("true", timeout=60)
        self.fake({"error": {"desc": "guest-exec is disabled"}})
        with self.assertRaisesRegex(AgentError, "guest-exec is disabled"):
            GuestAgent(self.path).run("true", timeout=60)


if __name__ == "__main__":
    unittest.main()
