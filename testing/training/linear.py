"""A training program for tests of `tessera submit`: linear regression by gradient descent, with the
data divided among the workers. Worker 0 averages the gradients of all, over TCP.

It finds the other workers as TensorFlow does (TF_CONFIG), or as PyTorch does (MASTER_ADDR,
MASTER_PORT, WORLD_SIZE, RANK); without these it trains alone. If the container has a GPU, it holds
half of the memory that the GPU shows, so that a memory limit is in force while it trains.

usage: linear.py [STEPS [SECONDS_PER_STEP]]
"""

from __future__ import annotations

import ctypes
import json
import os
import random
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
    host: str  # of worker 0
    port: int


def place() -> Place:
    """From the environment."""
    if "TF_CONFIG" in os.environ:
        config = json.loads(os.environ["TF_CONFIG"])
        # A chief counts as the first worker.
        hosts = config["cluster"].get("chief", []) + config["cluster"]["worker"]
        chiefs = len(hosts) - len(config["cluster"]["worker"])
        task = config["task"]
        rank = task["index"] + (chiefs if task["type"] == "worker" else 0)
        host, _, port = hosts[0].partition(":")
        return Place(rank, len(hosts), host, int(port))
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


class Workers:
    """Connections between worker 0 and the others."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.streams: list[IO[str]] = []
        if place.size > 1:
            self.streams = self._accept() if place.rank == 0 else [self._connect()]

    def _accept(self) -> list[IO[str]]:
        with socket.create_server(("", self.place.port)) as server:
            server.settimeout(WAIT_SECONDS)
            return [server.accept()[0].makefile("rw") for _ in range(self.place.size - 1)]

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
        if self.place.rank != 0:
            self._send(self.streams[0], values)
            return self._receive(self.streams[0])
        sums = [values] + [self._receive(stream) for stream in self.streams]
        mean = [sum(column) / self.place.size for column in zip(*sums)]
        for stream in self.streams:
            self._send(stream, mean)
        return mean

    @staticmethod
    def _send(stream: IO[str], values: list[float]) -> None:
        stream.write(json.dumps(values) + "\n")
        stream.flush()

    @staticmethod
    def _receive(stream: IO[str]) -> list[float]:
        values: list[float] = json.loads(stream.readline())
        return values


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
    print(f"worker {own.rank} of {own.size}, holds {hold_gpu_memory()}", flush=True)
    with connected(own) as workers:
        train(workers, steps, pause)


if __name__ == "__main__":
    main(sys.argv[1:])
