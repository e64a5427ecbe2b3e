"""The disk of the virtual machine: Debian 12 with the Kubernetes programs, made once and cached.

    $TESSERA_CACHE/vm/debian-KEY.tar    Debian's packages, from the machine's own apt sources
    $TESSERA_CACHE/vm/image-KEY/        disk.img, vmlinuz, initrd.img

KEY is a hash of all that goes in, so a change makes a new image. Images that no run has used for 14
days are removed. Needs root: Debian's packages are installed in a chroot.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kube import binaries, images
from kube.errors import KubeError
from vm import guest

RELEASE = "bookworm"
PACKAGES = ("systemd-sysv", "udev", "dbus", "kmod", "lz4", "linux-image-cloud-amd64", "iproute2",
            "procps", "runc", "containernetworking-plugins", "iptables", "conntrack",
            "qemu-guest-agent")
# The initial RAM disk finds the root disk, and no more: QEMU's devices are known.
INITRD = {"etc/initramfs-tools/conf.d/tessera": "MODULES=list\nCOMPRESS=lz4\n",
          "usr/share/initramfs-tools/modules.d/tessera": "virtio_pci\nvirtio_blk\next4\n"}
UNUSED = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")
SOURCE = ("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
          "$(REPO_URI) $(RELEASE) $(COMPONENT)")
TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}
DISK_BYTES = 8 << 30
UNUSED_SECONDS = 14 * 24 * 3600.0


@dataclass(frozen=True)
class Image:
    """The files that QEMU starts from. The disk is never changed."""

    directory: Path

    @property
    def disk(self) -> Path:
        """An ext4 file system without partitions."""
        return self.directory / "disk.img"

    @property
    def kernel(self) -> Path:
        """Debian's kernel."""
        return self.directory / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """Its initial RAM disk."""
        return self.directory / "initrd.img"


def ensure() -> Image:
    """Makes the image if it does not exist, with progress on stderr (4 minutes)."""
    cache = binaries.cache_root().parent / "vm"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        image = Image(cache / f"image-{_image_key()}")
        if not image.directory.exists():
            debian = cache / f"debian-{_debian_key()}.tar"
            with _scratch(cache) as scratch:
                if not debian.exists():
                    _make_debian(debian, scratch)
                _make_image(image.directory, debian, scratch)
        for used in (image.directory, cache / f"debian-{_debian_key()}.tar"):
            with contextlib.suppress(FileNotFoundError):
                os.utime(used)
        _remove_unused(cache)
        return image


def _debian_key() -> str:
    return _hash(RELEASE, *PACKAGES, *UNUSED, str(INITRD))


def _image_key() -> str:
    return _hash(_debian_key(), Path(__file__).read_text(), str(guest.files()), str(guest.links()),
                 images.pause_archive().name, *(str(path) for path in guest.programs()))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@contextlib.contextmanager
def _scratch(cache: Path) -> Iterator[Path]:
    """A new folder that is removed at the end. What killed builds left is removed too."""
    for left in cache.glob("scratch-*"):
        shutil.rmtree(left)
    for tool, package in TOOLS.items():
        if not shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            raise KubeError(f"no {tool}: apt-get install {package}")
    made = Path(tempfile.mkdtemp(dir=cache, prefix="scratch-"))
    made.chmod(0o755)  # apt in the chroot reads it as its own user
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _make_debian(archive: Path, scratch: Path) -> None:
    """Installs the packages into an archive. The machine's apt sources say where they are."""
    sources = _run("apt-get", "indextargets", "--format", SOURCE, "Created-By: Packages",
                   "Origin: Debian")
    _say("installing Debian into the image of the virtual machine (2 minutes)")
    line = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}",
            '--aptopt=Acquire::Check-Valid-Until "false"',  # sources may be a snapshot
            '--aptopt=Apt::Install-Recommends "false"']
    line += [f"--dpkgopt=path-exclude={path}" for path in UNUSED]
    for name, text in INITRD.items():
        source = scratch / Path(name).name
        source.write_text(text)
        line += [f'--essential-hook=mkdir -p "$1/{Path(name).parent}"',
                 f'--essential-hook=printf %s {_quoted(text)} > "$1/{name}"']
    draft = scratch / "debian.tar"
    _run(*line, RELEASE, str(draft), "-", text=sources)
    draft.rename(archive)


def _make_image(target: Path, debian: Path, scratch: Path) -> None:
    """Adds the programs and units to Debian, and makes the disk."""
    _say("making the disk of the virtual machine (1 minute)")
    root, draft = scratch / "root", scratch / "image"
    draft.mkdir()
    root.mkdir()
    _run("tar", "-xf", str(debian), "--numeric-owner", "-C", str(root))
    for name, text in guest.files().items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, to in guest.links().items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(to)
    for program in guest.programs():
        shutil.copy(program, root / guest.PROGRAMS.lstrip("/"))
    shutil.copy(images.pause_archive(), root / guest.PAUSE.lstrip("/"))
    for name in ("vmlinuz", "initrd.img"):
        kernel, = (root / "boot").glob(f"{name}-*")
        shutil.move(kernel, draft / name)
    _run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(root),
         str(draft / "disk.img"), str(DISK_BYTES >> 10))
    draft.rename(target)


def _remove_unused(cache: Path) -> None:
    for path in (*cache.glob("image-*"), *cache.glob("debian-*.tar")):
        if path.stat().st_mtime < time.time() - UNUSED_SECONDS:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _quoted(text: str) -> str:
    return "'" + text + "'"


def _run(*command: str, text: str = "") -> str:
    done = subprocess.run(command, input=text, text=True, capture_output=True,
                          env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"})
    if done.returncode != 0:
        raise KubeError(f"{command[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _say(text: str) -> None:
    print(f"vm: {text}", file=sys.stderr, flush=True)
