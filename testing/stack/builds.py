"""The built programs, and the container images made from them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kube.errors import KubeError

ROOT = Path(__file__).resolve().parents[2]
IMAGE_TOOL = ROOT / "deploy" / "images" / "build"
GPUHOG = "localhost/gpuhog:dev"
GUARD = Path("guard/lib/libtessera-guard.so")
MPS_PROBE = Path("guard/lib/tessera-mps-probe")


def build_directory() -> Path:
    """The CMake build to test: $TESSERA_BUILD, or else build/release."""
    return Path(os.environ.get("TESSERA_BUILD", ROOT / "build" / "release"))


def program(name: str) -> Path:
    """The path of a built program. Raises KubeError with the fix if it is missing."""
    path = build_directory() / "bin" / name
    if not path.exists():
        raise KubeError(f"{path} is missing: run ./dev build")
    return path


def images(directory: Path) -> list[Path]:
    """Makes the images of Tessera and of the sample program in `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    return [
        _image(directory, "tessera-controller", "--program",
               f"{program('tessera-ledger')}=/usr/bin/tessera-ledger"),
        _image(directory, "tessera-agent", "--file",
               f"{build_directory() / GUARD}=/usr/lib/tessera/libtessera-guard.so",
               "--file", f"{build_directory() / MPS_PROBE}=/usr/lib/tessera/tessera-mps-probe",
               "--program", f"{program('tessera-mps')}=/usr/bin/tessera-mps"),
        gpuhog_image(directory),
    ]


def gpuhog_image(directory: Path) -> Path:
    """Makes the image of the sample program in `directory`. As on a real node, the driver comes from
    the node and not from the image."""
    directory.mkdir(parents=True, exist_ok=True)
    return _image(directory, "gpuhog", "--program", f"{program('gpusmi')}=/usr/bin/gpusmi",
                  "--program", f"{program('gpuspin')}=/usr/bin/gpuspin", "--busybox",
                  "--without", "libcuda.so.1", "--without", "libnvidia-ml.so.1")


def model_server_image(directory: Path) -> Path:
    """Makes the image of the model server of the tests, where TensorFlow Serving has its own."""
    directory.mkdir(parents=True, exist_ok=True)
    return make_image(directory, "model-server", "--program",
                      f"{program('model-server')}=/usr/bin/tensorflow_model_server", "--program",
                      f"{program('model-client')}=/usr/bin/model-client", "--busybox",
                      "--without", "libcuda.so.1")


def make_image(directory: Path, name: str, *options: str) -> Path:
    """Makes the docker archive NAME.tar with these options of deploy/images/build."""
    out = directory / f"{name}.tar"
    tag = f"localhost/{name}:dev"
    done = subprocess.run([str(IMAGE_TOOL), tag, str(out), *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise KubeError(f"image {tag}: {done.stderr.strip()}")
    return out


def _image(directory: Path, binary: str, *options: str) -> Path:
    return make_image(directory, binary, "--program", f"{program(binary)}=/usr/bin/{binary}",
                      *options, "--entrypoint", f"/usr/bin/{binary}")
