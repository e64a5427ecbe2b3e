"""A training program for tests of `tessera submit`: linear regression by gradient descent, with the
data divided among the workers. Worker 0 averages the gradients of all, over TCP.

It finds the other workers as TensorFlow does (TF_CONFIG), or as PyTorch does (MASTER_ADDR,
MASTER_PORT, WORLD_SIZE, RANK); without these it trains alone. With parameter servers, the first of
them averages. Like those of TensorFlow they never end by themselves, nor does an evaluator. If the
container has a GPU, it holds half of the memory that the GPU shows, so that a memory limit is in
force while it trains.

usage: linear.py [STEPS [SECONDS_PER_STEP]]
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

SLOPE, OFFSET = 3.0, -1.0  # what it learns
RATE = 0.2
SAMPLES = 200
WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Place:
    """This worker among all of them."""

    rank: int
    size: int
    host: str  # of what averages: worker 0, or parameter server 0
    port: int
    task: str = "worker"  # ps, evaluator
    has_server: bool = False


def place() -> Place:
    """From the environment."""
    if "TF_CONFIG" in os.environ:
        config = json.loads(os.environ["TF_CONFIG"])
        # A chief counts as the first worker.
        hosts = config["cluster"].get("chief", []) + config["cluster"]["worker"]
        chiefs = len(hosts) - len(config["cluster"]["worker"])
        task = config["task"]
        rank = task["index"] + (chiefs if task["type"] == "worker" else 0)
        servers = config["cluster"].get("ps", [])
        host, _, port = (servers + hosts)[0].partition(":")
        kind = task["type"] if task["type"] in ("ps", "evaluator") else "worker"
        return Place(rank, len(hosts), host, int(port), kind, bool(servers))
    if "MASTER_ADDR" in os.environ:
        names = ("RANK", "WORLD_SIZE", "MASTER_PORT")
        rank, size, port = (int(os.environ[name]) for name in names)
        return Place(rank, size, os.environ["MASTER_ADDR"], port)
    return Place(0, 1, "localhost", 0)


def hold_gpu_memory() -> str:
    """Half of what the GPU shows; returns what was taken. Raises RuntimeError if a call fails."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no GPU"
    context, pointer, total = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t()
    calls = (("cuInit", (0,)), ("cuDeviceTotalMem_v2", (ctypes.byref(total), 0)),
             ("cuCtxCreate_v2", (ctypes.byref(context), 0, 0)))
    for name, arguments in calls:
        if code := getattr(cuda, name)(*arguments):
            raise RuntimeError(f"{name}: CUDA error {code}")
    half = total.value // 2
    if code := cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(half)):
        raise RuntimeError(f"cuMemAlloc: CUDA error {code}")
    return f"{half} of {total.value} bytes of the GPU"


def accept(port: int, number: int) -> list[IO[str]]:
    """Connections from this number of others."""
    with socket.create_server(("", port)) as server:
        server.settimeout(WAIT_SECONDS)
        return [server.accept()[0].makefile("rw") for _ in range(number)]


def send(stream: IO[str], values: list[float]) -> None:
    """A line of JSON."""
    stream.write(json.dumps(values) + "\n")
    stream.flush()


def receive(stream: IO[str]) -> list[float]:
    """What send() sent; empty at the end."""
    line = stream.readline()
    values: list[float] = json.loads(line) if line else []
    return values


def mean_of(rows: list[list[float]]) -> list[float]:
    """Column by column."""
    return [sum(column) / len(rows) for column in zip(*rows)]


def serve_parameters(place: Place) -> None:
    """Averages for the workers until they have left."""
    streams = accept(place.port, place.size)
    while all(rows := [receive(stream) for stream in streams]):
        for stream in streams:
            send(stream, mean_of(rows))
    print("the workers have left", flush=True)


def wait_for_the_end() -> None:
    """Until Kubernetes ends the pod."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        signal.pause()


class Workers:
    """Connections between what averages and the others."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.streams: list[IO[str]] = []
        self.is_center = place.rank == 0 and not place.has_server
        if not self.is_center:
            self.streams = [self._connect()]
        elif place.size > 1:
            self.streams = accept(place.port, place.size - 1)

    def _connect(self) -> IO[str]:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                return socket.create_connection((self.place.host, self.place.port),
                                                timeout=WAIT_SECONDS).makefile("rw")
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def average(self, values: list[float]) -> list[float]:
        """Of this worker's values and those of all others."""
        if not self.is_center:
            send(self.streams[0], values)
            return receive(self.streams[0])
        mean = mean_of([values] + [receive(stream) for stream in self.streams])
        for stream in self.streams:
            send(stream, mean)
        return mean


@contextmanager
def connected(place: Place) -> Iterator[Workers]:
    """The connections, which are closed at the end."""
    workers = Workers(place)
    try:
        yield workers
    finally:
        for stream in workers.streams:
            stream.close()


def train(workers: Workers, steps: int, pause: float) -> None:
    """Each worker has samples of its own; all have the same model after each step."""
    generator = random.Random(workers.place.rank)
    samples = [(x, SLOPE * x + OFFSET) for x in (generator.uniform(-1, 1) for _ in range(SAMPLES))]
    slope = offset = 0.0
    for step in range(steps):
        errors = [(x, slope * x + offset - y) for x, y in samples]
        gradient = [2 * sum(error * x for x, error in errors) / SAMPLES,
                    2 * sum(error for _, error in errors) / SAMPLES,
                    sum(error * error for _, error in errors) / SAMPLES]
        by_slope, by_offset, loss = workers.average(gradient)
        slope, offset = slope - RATE * by_slope, offset - RATE * by_offset
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss:.6f}", flush=True)
        time.sleep(pause)
    print(f"model: {slope:.2f} x + {offset:.2f}", flush=True)


def main(arguments: list[str]) -> None:
    steps = int(arguments[0]) if arguments else 200
    pause = float(arguments[1]) if len(arguments) > 1 else 0.0
    own = place()
    if own.task != "worker":
        print(f"{own.task} {own.rank}, holds {hold_gpu_memory()}", flush=True)
        if own.task == "ps" and own.rank == 0:
            serve_parameters(own)
        wait_for_the_end()
    print(f"worker {own.rank} of {own.size}, holds {hold_gpu_memory()}", flush=True)
    with connected(own) as workers:
        train(workers, steps, pause)


if __name__ == "__main__":
    main(sys.argv[1:])
