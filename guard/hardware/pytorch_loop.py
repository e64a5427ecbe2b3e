"""PyTorch under the guard: its cost, its out-of-memory error, and the shares of two tenants.

usage: pytorch_loop.py GUARD_HARDWARE LIBCUDA [--quick]    figures on stdout, progress on stderr.

The program starts itself again for each process that uses the GPU (`pytorch_loop.py --work WORK SECONDS`):
with the guard preloaded, with the guard in the driver's place, or without it. GUARD_HARDWARE makes the
containers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_S = 300  # the first import of torch on a machine takes long
MIB = 1 << 20
LIMIT_MIB = 4096


@dataclass
class Judge:
    """Prints figures; a quick run does not judge those that a busy machine makes worse."""

    is_quick: bool
    all_hold: bool = True

    def shown(self, name: str, measured: str) -> None:
        """A figure for comparison, without a goal."""
        print(f"{name} | - | {measured} | -", flush=True)

    def judged(self, name: str, goal: str, measured: str, holds: bool) -> None:
        """A figure that reaches its goal or not."""
        self.all_hold &= holds
        print(f"{name} | {goal} | {measured} | {'holds' if holds else 'falls short'}", flush=True)

    def at_most(self, name: str, goal: float, measured: float, unit: str) -> None:
        """A figure of speed, not judged in a quick run."""
        if self.is_quick:
            self.shown(name, f"{measured:.3g} {unit}")
        else:
            self.judged(name, f"<= {goal:g} {unit}", f"{measured:.3g} {unit}", measured <= goal)


# What a worker does. Only workers import torch.

def _model():
    import torch
    layers = [layer for _ in range(8) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers).cuda(), torch.randn(256, 2048, device="cuda")


def _training():
    import torch
    model, batch = _model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(batch).square().mean().backward()
        optimizer.step()
    return step


def _inference():
    import torch
    model, batch = _model()
    model.eval()

    def step() -> None:
        with torch.inference_mode():
            model(batch)
    return step


def throughput(programs: dict, seconds: float) -> dict[str, float]:
    """Completed steps per second of each program, one after the other.

    Waits for a line on stdin before it begins.
    """
    import torch
    for step in programs.values():
        for _ in range(10):
            step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    sys.stdin.readline()
    return {kind: steps_per_second(step, seconds) for kind, step in programs.items()}


def steps_per_second(step, seconds: float) -> float:
    """Completed steps per second."""
    import torch
    start = time.monotonic()
    steps = 0
    while time.monotonic() - start < seconds:
        for _ in range(5):
            step()
        torch.cuda.synchronize()
        steps += 5
    return steps / (time.monotonic() - start)


def out_of_memory() -> dict[str, object]:
    """Allocates until memory is refused, then frees it and trains one step."""
    import torch
    print("ready", flush=True)
    sys.stdin.readline()
    free, total = torch.cuda.mem_get_info()
    held = []
    error = "none"
    try:
        while len(held) * 64 < 2 * LIMIT_MIB:
            held.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        error = "torch.cuda.OutOfMemoryError"
    except RuntimeError as other:
        error = str(other).splitlines()[0]
    taken = len(held) * 64
    held.clear()
    torch.cuda.empty_cache()
    _training()()
    torch.cuda.synchronize()
    return {"error": error, "taken_mib": taken, "free_mib": free // MIB, "total_mib": total // MIB}


def work(kind: str, seconds: float) -> None:
    """One worker: prints a line when it is ready, and its result as JSON."""
    if kind == "out-of-memory":
        found: dict[str, object] = out_of_memory()
    else:
        programs = {"training": _training, "inference": _inference}
        found = dict(throughput({each: programs[each]() for each in kind.split("+")}, seconds))
    print(json.dumps(found), flush=True)


# What starts workers.

class Worker:
    """A process that uses the GPU: in a container by `way`, or without the guard."""

    def __init__(self, kind: str, seconds: float, directory: Path | None = None,
                 way: str = "preload") -> None:
        environment = dict(os.environ)
        if directory is not None and way == "preload":
            environment["LD_PRELOAD"] = str(directory / "libtessera-guard.so")
        elif directory is not None:
            path = environment.get("LD_LIBRARY_PATH", "")
            environment["LD_LIBRARY_PATH"] = f"{directory}:{path}" if path else str(directory)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", kind, str(seconds)], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seconds = seconds

    def wait_until_ready(self) -> None:
        """Waits until its model is on the GPU."""
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("a worker ended before it began")

    def begin(self) -> None:
        """Starts the measurement."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def result(self) -> dict:
        """Returns its result."""
        said, _ = self.process.communicate(timeout=self.seconds + START_S)
        if self.process.returncode != 0 or not said.strip():
            raise RuntimeError(f"a worker ended with {self.process.returncode}")
        return json.loads(said.strip().splitlines()[-1])


def run_together(workers: list[Worker]) -> list[dict]:
    """Begins all at the same time; ends all of them in any case."""
    try:
        for worker in workers:
            worker.wait_until_ready()
        for worker in workers:
            worker.begin()
        return [worker.result() for worker in workers]
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()


@contextmanager
def containers(program: str, driver: str, memory_mib: int, *percents: int) -> Iterator[list[Path]]:
    """Directories of containers, for which an arbiter runs."""
    holder = subprocess.Popen([program, driver, "hold", str(memory_mib), *map(str, percents)],
                              text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        yield [Path(holder.stdout.readline().strip()) for _ in percents]
    finally:
        holder.communicate()


def check_cost(judge: Judge, program: str, driver: str, seconds: float) -> None:
    """Throughput with and without the guard, measured alternately."""
    ways = ("none", "preload", "facade")
    best_of = {kind: dict.fromkeys(ways, 0.0) for kind in ("training", "inference")}
    with containers(program, driver, 1 << 20, 100) as (directory,):
        for _ in range(1 if judge.is_quick else 3):
            for way in ways:
                worker = Worker("+".join(best_of), seconds, None if way == "none" else directory, way)
                found = run_together([worker])[0]
                for kind, best in best_of.items():
                    best[way] = max(best[way], found[kind])
    for kind, best in best_of.items():
        judge.shown(f"{kind}, without the guard", f"{best['none']:.4g} steps/s")
        for way in ("preload", "facade"):
            judge.at_most(f"{kind}, slower with the guard by {way}", 5,
                          100 * (1 - best[way] / best["none"]), "%")


def check_memory(judge: Judge, program: str, driver: str) -> None:
    """Out of memory is PyTorch's own error, comes at the limit, and can be recovered from."""
    for way in ("preload", "facade"):
        with containers(program, driver, LIMIT_MIB, 100) as (directory,):
            found = run_together([Worker("out-of-memory", 0, directory, way)])[0]
        wanted = "torch.cuda.OutOfMemoryError"
        judge.judged(f"out of memory by {way}", wanted, str(found["error"]),
                     found["error"] == wanted)
        judge.judged(f"total by {way}", f"= {LIMIT_MIB} MiB", f"{found['total_mib']} MiB",
                     found["total_mib"] == LIMIT_MIB)
        # The context counts too, and the driver takes memory of its own while tensors are made.
        free = int(found["free_mib"])
        judge.judged(f"tensors of 64 MiB in free memory, by {way}", f"{free - 128} to {free} MiB",
                     f"{found['taken_mib']} MiB",
                     free - 128 <= int(found["taken_mib"]) <= free)


def check_shares(judge: Judge, program: str, driver: str, seconds: float) -> None:
    """What two that train get, in percent of what one gets alone."""
    alone = run_together([Worker("training", seconds)])[0]["training"]
    with containers(program, driver, 1 << 20, 30, 70) as directories:
        found = run_together([Worker("training", seconds, each) for each in directories])
    got = [100 * each["training"] / alone for each in found]
    judge.shown("two that train at 30:70, got", f"{got[0]:.1f} % : {got[1]:.1f} %")
    first = 100 * got[0] / sum(got)  # the GPU loses time at switches, with and without the guard
    judge.shown("two that train at 30:70, got of what both got", f"{first:.1f} % : {100 - first:.1f} %")
    judge.at_most("two that train at 30:70, off", 5, abs(first - 30), "points")


def main(arguments: list[str]) -> int:
    """Runs every check, even if others failed."""
    program, driver = arguments[:2]
    judge = Judge("--quick" in arguments)
    seconds = 1.0 if judge.is_quick else 5.0
    for name, check in (
            ("cost", lambda: check_cost(judge, program, driver, seconds)),
            ("memory", lambda: check_memory(judge, program, driver)),
            ("shares", lambda: check_shares(judge, program, driver, seconds))):
        print(f"pytorch: {name}", file=sys.stderr, flush=True)
        try:
            check()
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
            judge.judged(f"PyTorch: {name}", "to its end", str(error).splitlines()[0], False)
    return 0 if judge.all_hold else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], float(sys.argv[3]))
    elif len(sys.argv) < 3:
        sys.exit(__doc__)
    else:
        sys.exit(main(sys.argv[1:]))
