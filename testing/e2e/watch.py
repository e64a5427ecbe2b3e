"""Samples the cluster in a thread: a GPU must never have more memory allocated or used than it
has."""

from __future__ import annotations

import threading

from e2e import truth
from kube.errors import KubeError
from stack.gpu_node import gpusimctl
from stack.stack import Stack

PERIOD_SECONDS = 0.1


def driver_use(stack: Stack) -> dict[str, tuple[int, int]]:
    """UUID -> (used bytes, memory) of each GPU of each node, as the drivers report."""
    found: dict[str, tuple[int, int]] = {}
    for node in stack.nodes.values():
        found |= truth.driver_use(gpusimctl("show", str(node.driver_root(stack.cluster.directory))))
    return found


class Watch:
    """Samples from `start` to `stop`. problems: what was found; samples: the number of samples."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._memory: dict[str, int] = {}
        self.problems: list[str] = []
        self.samples = 0

    def start(self) -> None:
        """Starts the thread."""
        self._memory = {uuid: memory for uuid, (_, memory) in driver_use(self._stack).items()}
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._look()
        except Exception as error:  # a test must not pass because nothing was sampled
            self.problems.append(f"the watch ended: {error!r}")
            raise

    def _look(self) -> None:
        api = self._stack.cluster.api()
        while not self._stop.wait(PERIOD_SECONDS):
            try:
                pods = api.json("GET", "/api/v1/pods")["items"]
            except KubeError:  # the API server, or a node, is being restarted
                continue
            self._compare("allocated", truth.allocated(pods))
            self._compare("used", {uuid: used
                                   for uuid, (used, _) in driver_use(self._stack).items()})
            self.samples += 1

    def _compare(self, what: str, amounts: dict[str, int]) -> None:
        for uuid, amount in amounts.items():
            memory = self._memory.get(uuid)
            if memory is None:
                self.problems.append(f"{uuid} is {what}, but is no GPU of this cluster")
            elif amount > memory:
                self.problems.append(f"{amount} of the {memory} bytes of {uuid} are {what}")
