"""The images that every run needs, built by deploy/images/build into the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from kube import binaries
from kube.errors import KubeError

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "deploy" / "images" / "build"
PAUSE = "localhost/tessera-pause:1"
BUSYBOX = "localhost/tessera-busybox:1"
PYTHON = "localhost/tessera-python:1"
GIT_SYNC = "localhost/tessera-git-sync:1"
GIT_PROGRAMS = (Path("/usr/bin/git"), Path("/usr/lib/git-core/git-remote-http"))
DEBIANS_PYTHON = Path("/usr/bin/python3")
UNUSED_PYTHON = ("config-*", "__pycache__", "dist-packages", "lib2to3", "pydoc_data", "test")


def pause_archive() -> Path:
    """The image of the process that keeps a pod's namespaces."""
    source = HERE / "pause.c"

    def build(out: Path, scratch: Path) -> None:
        if not shutil.which("gcc"):
            raise KubeError("no gcc for the pause image: apt-get install gcc libc6-dev")
        program = scratch / "pause"
        _run("gcc", "-O2", "-static", "-s", "-o", str(program), str(source))
        _run(str(BUILD), PAUSE, str(out), "--file", f"{program}=/pause", "--entrypoint", "/pause")
    return _cached("pause", [source, BUILD], build)


def busybox_archive() -> Path:
    """A small image with a shell, for tests."""
    def build(out: Path, _: Path) -> None:
        _run(str(BUILD), BUSYBOX, str(out), "--busybox")
    return _cached("busybox", [BUILD], build)


def python_archive(*files: tuple[Path, str]) -> Path:
    """An image with Debian's Python and its standard library, for servers and clients in tests. files:
    further ones, with their paths in the image."""
    program = DEBIANS_PYTHON.resolve()  # /usr/bin/python3.11
    library = Path("/usr/lib", program.name)
    # With the libraries that they need.
    modules = [next(library.glob(f"lib-dynload/{name}.*.so")) for name in ("_ssl", "_ctypes")]

    def build(out: Path, scratch: Path) -> None:
        copy = scratch / "library"
        shutil.copytree(library, copy, ignore=shutil.ignore_patterns(*UNUSED_PYTHON))
        _run(str(BUILD), PYTHON, str(out), "--busybox", "--file", f"{copy}={library}",
             "--program", f"{program}={DEBIANS_PYTHON}",
             *(word for module in modules for word in ("--program", f"{module}={module}")),
             *(word for file, path in files for word in ("--file", f"{file}={path}")),
             "--env", "PYTHONUNBUFFERED=1", "--entrypoint", str(DEBIANS_PYTHON))
    inputs = [program, *modules, BUILD, HERE / "images.py", *(file for file, _ in files)]
    return _cached("python", inputs, build)


def frameworks_archive(server: Path) -> Path:
    """An image with Debian's Python, all of its extensions and the libraries that wheels of PyPI
    expect. server: what it has as tritonserver."""
    program = DEBIANS_PYTHON.resolve()
    library = Path("/usr/lib", program.name)
    folder = Path("/usr/lib/x86_64-linux-gnu")
    # glibc's are empty since its release 2.34, but wheels name them.
    libraries = [f"lib{program.name}.so.1.0", "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6",
                 "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libresolv.so.2"]
    # Triton starts the processes of its Python models by bash.
    programs = [*sorted(library.glob("lib-dynload/*.so")), *(folder / name for name in libraries),
                Path("/bin/bash")]

    def build(out: Path, scratch: Path) -> None:
        copy = scratch / "library"
        shutil.copytree(library, copy, ignore=shutil.ignore_patterns(*UNUSED_PYTHON))
        _run(str(BUILD), PYTHON, str(out), "--busybox", "--file", f"{copy}={library}",
             "--program", f"{program}={DEBIANS_PYTHON}",
             *(word for each in programs for word in ("--program", f"{each}={each}")),
             "--file", f"{server}=/usr/bin/tritonserver", "--env", "PYTHONUNBUFFERED=1",
             "--entrypoint", str(DEBIANS_PYTHON))
    return _cached("frameworks", [program, *programs, server, BUILD, HERE / "images.py"], build)


def git_sync_archive(entry_point: Path) -> Path:
    """An image with Debian's git and a shell, whose user is that of git-sync's image."""
    def build(out: Path, _: Path) -> None:
        _run(str(BUILD), GIT_SYNC, str(out), "--busybox", "--ca-certificates",
             *(word for program in GIT_PROGRAMS for word in ("--program", f"{program}={program}")),
             "--file", f"{entry_point}=/git-sync", "--entrypoint", "/git-sync", "--user", "65533")
    return _cached("git-sync", [*GIT_PROGRAMS, entry_point, BUILD], build)


def _cached(name: str, inputs: list[Path], build: Callable[[Path, Path], None]) -> Path:
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in inputs)).hexdigest()[:16]
    final = binaries.cache_root() / f"{name}-{digest}.tar"
    if not final.exists():
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=final.parent) as scratch:
            draft = Path(scratch) / "image.tar"
            build(draft, Path(scratch))
            os.rename(draft, final)
    return final


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise KubeError(f"{Path(command[0]).name} failed: {done.stderr.strip()}")
