"""The command line: clusters that stay up until `kube down`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from kube import binaries, doctor, images, versions
from kube.cluster import Cluster, stop_init
from kube.errors import KubeError
from kube.handle import ClusterHandle
from kube.node import NodeSpec
from kube.run_dir import Record, Registry

DEFAULT_NAME = "dev"

NODE_HELP = """a node, with options after colons (default: one node named node-a):
  no-nri              containerd without NRI
  bind=DIR=/PATH      this machine's DIR, writable at /PATH in the node
  file=FILE=/PATH     a copy of FILE at /PATH in the node
  label=KEY=VALUE     a label of the Node
  max-pods=N          default 250
e.g. --node gpu-1:bind=driver-root=/run/nvidia/driver:file=nvidia.json=/run/cdi/nvidia.json"""


def parse_node(text: str) -> NodeSpec:
    """Parses NAME[:OPTION]..., as in NODE_HELP."""
    name, *options = text.split(":")
    nri, max_pods = True, NodeSpec.max_pods
    binds: list[tuple[str | Path, str]] = []
    files: dict[str, str | bytes | Path] = {}
    labels: dict[str, str] = {}
    for option in options:
        match option.split("=", 2):
            case ["no-nri"]:
                nri = False
            case ["bind", source, target]:
                binds.append((Path(source), target))
            case ["file", source, target]:
                files[target] = Path(source)
            case ["label", key, value]:
                labels[key] = value
            case ["max-pods", count] if count.isdigit():
                max_pods = int(count)
            case _:
                raise KubeError(f"--node {text}: no such option {option!r}; see `kube up --help`")
    return NodeSpec(name, nri, tuple(binds), files, labels, max_pods)


def up(options: argparse.Namespace) -> None:
    """kube up"""
    doctor.require_usable()
    print(doctor.TOUCHES, file=sys.stderr)
    versions.of(options.kubernetes).ensure(options.services)
    began = time.monotonic()
    nodes = [parse_node(text) for text in options.node or ["node-a"]]
    archives = [*options.image, *([images.busybox_archive()] if options.busybox else [])]
    cluster = Cluster(nodes, images=archives, scheduler_config=options.scheduler_config,
                      name=options.name, audit=options.audit, services=options.services,
                      kubernetes=options.kubernetes)
    cluster.start()
    kubeconfig, programs = cluster.kubeconfig, cluster.kubernetes.programs
    cluster.detach()
    name = "" if options.name == DEFAULT_NAME else f" --name {options.name}"
    print(f"cluster {options.name} is up after {time.monotonic() - began:.1f} s: "
          f"{', '.join(node.name for node in nodes)}\n"
          f"  export KUBECONFIG={kubeconfig} PATH={programs}:$PATH\n"
          f"  {sys.argv[0]} kubectl{name} -- get pods -A     run the cluster's own kubectl\n"
          f"  {sys.argv[0]} nsenter{name} {nodes[0].name} -- sh     open a shell in a node\n"
          f"  {sys.argv[0]} down{name}     end the cluster and remove all its files")


def down(options: argparse.Namespace) -> None:
    """kube down"""
    require_root()
    registry = Registry()
    registry.clean()
    names = ([r.name for r in registry.live() if r.keep] if options.all
             else [options.name])
    for name in names:
        run = registry.find(name)
        began = time.monotonic()
        stop_init(run)
        registry.remove(run)
        print(f"cluster {name} is down after {time.monotonic() - began:.1f} s")


def list_clusters(_: argparse.Namespace) -> None:
    """kube list"""
    require_root()
    registry = Registry()
    row = "{:<20} {:<20} {:<10} {}".format
    print(row("NAME", "STARTED", "ENDS WITH", "KUBECONFIG"))
    for record in registry.live():
        print(row(record.name, record.started, _ends_with(record),
                  registry.base / record.name / "admin.kubeconfig"))


def _ends_with(record: Record) -> str:
    return "kube down" if record.keep else "its tests"


def kubectl(options: argparse.Namespace) -> None:
    """kube kubectl"""
    handle = find(options.name)
    program = str(handle.kubernetes.programs / "kubectl")
    os.execv(program, [program, f"--kubeconfig={handle.kubeconfig}",
                       f"--cache-dir={handle.directory / 'kubectl-cache'}",
                       *without_dashes(options.arguments)])


def nsenter(options: argparse.Namespace) -> None:
    """kube nsenter"""
    pid = find(options.name).node_pid(options.node)
    command = without_dashes(options.command) or ["sh"]
    os.execvp("nsenter", ["nsenter", "--target", str(pid), "--mount", "--pid", "--uts",
                          "--net", "--", *command])


def logs(options: argparse.Namespace) -> None:
    """kube logs"""
    sys.stdout.write(find(options.name).logs(options.component, options.node))


def build(options: argparse.Namespace) -> None:
    """kube build"""
    print(binaries.ensure(options.trim_go_cache))
    for wanted, table in ((options.proxy, binaries.PROXY), (options.dns, binaries.COREDNS),
                          (options.helm, binaries.HELM), (options.kwok, binaries.KWOK)):
        if wanted:
            print(binaries.ensure(options.trim_go_cache, table))
    for table in binaries.CONTAINERDS.values() if options.containerds else ():
        print(binaries.ensure(options.trim_go_cache, table))


def run_doctor(_: argparse.Namespace) -> None:
    """kube doctor"""
    findings = [*doctor.machine(), *doctor.build()]
    for finding in findings:
        mark = "FIX" if finding.fix else "ok"
        print(f"{mark:<4} {finding.subject:<15} {finding.state}"
              + (f"\n     -> {finding.fix}" if finding.fix else ""))
    if any(finding.fix for finding in findings):
        raise KubeError("this machine needs the fixes above")


def find(name: str) -> ClusterHandle:
    """The live cluster of that name."""
    require_root()
    return ClusterHandle(Registry().find(name).directory)


def require_root() -> None:
    """Raises KubeError unless the user is root, which owns clusters and their keys."""
    if os.geteuid() != 0:
        raise KubeError("needs root, because the cluster belongs to root: run it with sudo -E")


def without_dashes(arguments: list[str]) -> list[str]:
    """The arguments after an optional leading --."""
    return arguments[1:] if arguments[:1] == ["--"] else arguments


def parser() -> argparse.ArgumentParser:
    """All commands and options."""
    raw = argparse.RawTextHelpFormatter
    top = argparse.ArgumentParser(
        prog="kube", formatter_class=raw,
        description="A real Kubernetes on this machine: control plane and nodes (kubelet, "
        "containerd).\nIt starts in seconds, and leaves nothing behind.\n\n" + doctor.TOUCHES)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: object, text: str, named: bool = False
                ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text, formatter_class=raw)
        sub.set_defaults(run=run)
        if named:
            sub.add_argument("--name", default=DEFAULT_NAME,
                             help=f"the cluster (default: {DEFAULT_NAME})")
        return sub

    sub = command("up", up, "start a cluster that runs until `kube down`", named=True)
    sub.add_argument("--node", action="append", metavar="NAME[:OPTION]...", help=NODE_HELP)
    sub.add_argument("--image", type=Path, action="append", default=[], metavar="TAR",
                     help="a docker archive to load into every node (see deploy/images/build)")
    sub.add_argument("--busybox", action="store_true", help=f"also load {images.BUSYBOX}")
    sub.add_argument("--scheduler-config", type=Path, metavar="FILE",
                     help="a KubeSchedulerConfiguration; KUBECONFIG_PATH in it is filled in")
    sub.add_argument("--services", action="store_true",
                     help="kube-proxy, and a network namespace for the cluster")
    sub.add_argument("--kubernetes", default=versions.DEFAULT, metavar="VERSION",
                     help=f"{', '.join(versions.TABLE)} (default: {versions.DEFAULT})")
    sub.add_argument("--audit", action="store_true", help="the API server writes logs/audit.log")
    sub = command("down", down, "end a cluster and remove all its files", named=True)
    sub.add_argument("--all", action="store_true",
                     help="end every cluster that `up` started, and clean up after killed ones")
    command("list", list_clusters, "list the running clusters")
    sub = command("kubectl", kubectl, "run kubectl as cluster-admin", named=True)
    sub.add_argument("arguments", nargs=argparse.REMAINDER, metavar="-- ARGUMENT...")
    sub = command("nsenter", nsenter, "run a command (default: sh) in a node", named=True)
    sub.add_argument("node")
    sub.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    sub = command("logs", logs, "print the log of a component", named=True)
    sub.add_argument("component", help="etcd, kube-apiserver, kube-controller-manager, "
                     "kube-scheduler; with --node kubelet, containerd")
    sub.add_argument("--node")
    sub = command("build", build, "build the programs into the cache (8 min cold, 2 cores)")
    sub.add_argument("--trim-go-cache", action="store_true",
                     help="then run `go clean -cache` if less than 15 GB of disk are free")
    sub.add_argument("--proxy", action="store_true",
                     help="also build kube-proxy, for clusters with Services")
    sub.add_argument("--dns", action="store_true",
                     help="also build CoreDNS, for clusters whose pods look for each other by name")
    sub.add_argument("--helm", action="store_true", help="also build Helm")
    sub.add_argument("--kwok", action="store_true",
                     help="also build kwok, which simulates nodes for `./dev bench cluster`")
    sub.add_argument("--containerds", action="store_true",
                     help="also build the releases of containerd for `./dev check runtimes`")
    command("doctor", run_doctor, "check whether this machine can run a cluster, and what to fix")
    return top


def main(argv: list[str]) -> None:
    """Runs one command. A KubeError is printed as one line on stderr; the exit status is then 1."""
    options = parser().parse_args(argv)
    try:
        options.run(options)
    except KubeError as error:
        sys.exit(f"kube: {error}")
    except KeyboardInterrupt:
        sys.exit("kube: interrupted")
