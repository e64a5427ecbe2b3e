"""The image of the tests of `tessera submit mpi`: Debian's Open MPI and a program that uses it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from kube import binaries, images
from kube.errors import KubeError

PROGRAM = Path(__file__).resolve().parent / "allreduce.c"
IMAGE = "localhost/tessera-open-mpi:1"
# Open MPI with what its own plugins need. They are extracted, and not installed.
PACKAGES = ("openmpi-bin", "openmpi-common", "libopenmpi3", "libopenmpi-dev", "libhwloc15",
            "libevent-core-2.1-7", "libevent-pthreads-2.1-7", "libpmix2", "libucx0", "libfabric1",
            "libibverbs1", "librdmacm1", "libpsm2-2", "libpsm-infinipath1", "libnl-3-200",
            "libnl-route-3-200", "libmunge2", "libnuma1")
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
PLUGINS = LIBRARIES / "openmpi" / "lib" / "openmpi3"
PMIX_PLUGINS = LIBRARIES / "pmix2" / "lib" / "pmix"
# Plugins for networks and schedulers that no test has, by parts of their names.
UNUSED = ("ucx", "ofi", "openib", "psm", "slurm", "flux", "gridengine", "romio", "jsm", "memheap", "netlink",
          "spml", "sshmem", "scoll")
FOLDERS = (Path("/usr/share/openmpi"), Path("/etc/openmpi"))


def archive() -> Path:
    """The image, which is built once for these packages."""
    digest = hashlib.sha256(PROGRAM.read_bytes() + Path(__file__).read_bytes() +
                            images.BUILD.read_bytes()).hexdigest()[:16]
    final = binaries.cache_root() / f"open-mpi-{digest}.tar"
    if not final.exists():
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=final.parent) as scratch:
            os.rename(_build(Path(scratch)), final)
    return final


def _build(scratch: Path) -> Path:
    root = scratch / "root"
    packages = scratch / "packages"
    packages.mkdir()
    scratch.chmod(0o755)  # apt reads it as its own user
    _run("apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *PACKAGES, at=packages)
    for package in sorted(packages.glob("*.deb")):
        _run("dpkg-deb", "-x", str(package), str(root))
    ours = root / str(LIBRARIES).lstrip("/")
    program = scratch / "allreduce"
    _run("gcc", "-O2", f"-I{ours}/openmpi/include", "-o", str(program), str(PROGRAM), "-L", str(ours),
         f"-Wl,-rpath-link,{ours}", str(ours / "libmpi.so.40"), "-ldl")
    plugins = [path for folder in (PLUGINS, PMIX_PLUGINS)
               for path in sorted((root / str(folder).lstrip("/")).glob("*.so"))
               if not any(name in path.name for name in UNUSED)]
    programs = {root / "usr/bin/orterun": "/usr/bin/mpirun", root / "usr/bin/orted": "/usr/bin/orted",
                program: "/usr/bin/allreduce"}
    out = scratch / "image.tar"
    words = [word for path, target in programs.items() for word in ("--program", f"{path}={target}")]
    for path in plugins:
        words += ["--program", f"{path}=/{path.relative_to(root)}"]
    for folder in FOLDERS:
        words += ["--file", f"{root / str(folder).lstrip('/')}={folder}"]
    _run(str(images.BUILD), IMAGE, str(out), "--busybox", "--without", "libcuda.so.1", *words,
         libraries=ours)
    return out


def _run(*command: str, at: Path | None = None, libraries: Path | None = None) -> None:
    environment = dict(os.environ)
    if libraries is not None:
        environment["LD_LIBRARY_PATH"] = str(libraries)
    if not shutil.which(command[0]):
        raise KubeError(f"no {command[0]} for the image of Open MPI")
    done = subprocess.run(command, capture_output=True, text=True, cwd=at, env=environment)
    if done.returncode != 0:
        raise KubeError(f"{Path(command[0]).name} failed: {done.stderr.strip()}")
