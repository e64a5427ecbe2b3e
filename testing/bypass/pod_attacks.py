"""Attacks by a pod's specification and annotations, and by a root shell in a container. Each is a
pair (row, function). If the pod is not refused, it runs guard_attack and its memory use decides."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from bypass.attack_case import IMAGE, RUN, SHARE, Gpu, AttackCase
from bypass.rows import CAUGHT, DOCUMENTED, POD, REPORTED, Attack, Outcome
from e2e import pods, truth, twice
from e2e.case import PODS
from e2e.truth import GIB, Json
from kube.api import ApiError

Run = Callable[[AttackCase, Attack], Outcome]
TRIES = RUN.format(command="guard_attack dlsym_handle")
STRATEGIC = "application/strategic-merge-patch+json"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
ALL = [{"name": VISIBLE, "value": "all"}]
CONFIG_MAP = {"configMap": {"name": "settings"}}
EMPTY: Json = {"emptyDir": {}}


def prepare(case: AttackCase) -> None:
    """Creates the ConfigMap that some of the pods mount."""
    case.cluster.kubectl("apply", "-f", "-", input=(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n"
        "data: {ld.so.preload: ''}\n"))


def attempt(case: AttackCase, attack: Attack, make: Callable[[Gpu], Json], words: tuple[str, ...],
            *, share: int = SHARE, container: str = "main") -> Outcome:
    """Creates a pod. It must be refused with these words; otherwise its memory use decides."""
    with case.gpu() as gpu:
        peak = case.use.watch(gpu.uuid, share)
        with case.made(make(gpu)) as (made,):
            own = case.use.watch(made["metadata"]["uid"], share)
            return case.refused_or_judged(attack.pod_name, words, peak, own,
                                            container=container)


# ---- volumes


def over(path: str, volume: Json = CONFIG_MAP, *words: str, **mount: Any) -> Run:
    """A pod with a volume at that path."""
    def run(case: AttackCase, attack: Attack) -> Outcome:
        def make(gpu: Gpu) -> Json:
            mounts = [{"name": "settings", "mountPath": path, **mount}]
            return case.tenant(attack.pod_name, gpu, TRIES, container={"volumeMounts": mounts},
                                 volumes=[{"name": "settings", **volume}])
        return attempt(case, attack, make, words or ("volume settings is mounted at",))
    return run


def termination_message(case: AttackCase, attack: Attack) -> Outcome:
    """The file that kubelet mounts for a container's termination message, in place of the guard's
    list."""
    def make(gpu: Gpu) -> Json:
        return case.tenant(attack.pod_name, gpu, TRIES,
                           container={"terminationMessagePath": "/etc/ld.so.preload/"})
    return attempt(case, attack, make, ("the file of terminationMessagePath is mounted at",))


def linked_list(case: AttackCase, attack: Attack) -> Outcome:
    """The pod's volume at /etc makes the guard's list a link to a path where an empty list is
    mounted."""
    def make(gpu: Gpu) -> Json:
        mounts = [{"name": "settings", "mountPath": "/etc"},
                  {"name": "lists", "mountPath": "/zz/list", "subPath": "ld.so.preload"}]
        links = pods.container("links", script="ln -s /zz/list /x/ld.so.preload",
                               volumeMounts=[{"name": "settings", "mountPath": "/x"}])
        return case.tenant(
            attack.pod_name, gpu, TRIES, container={"volumeMounts": mounts},
            initContainers=[links],
            volumes=[{"name": "settings", **EMPTY}, {"name": "lists", **CONFIG_MAP}])
    return attempt(case, attack, make, ("reached by a symbolic link",))


def detached_list(case: AttackCase, attack: Attack) -> Outcome:
    """A second container removes the file on which the guard's list is mounted."""
    waits = "while grep -q tessera /etc/ld.so.preload; do sleep 0.1; done; "

    def make(gpu: Gpu) -> Json:
        pod = case.tenant(
            attack.pod_name, gpu, waits + TRIES,
            container={"volumeMounts": [{"name": "settings", "mountPath": "/etc"}]},
            volumes=[{"name": "settings", **EMPTY}])
        pod["spec"]["containers"].append(pods.container(
            "remover", script="while rm -f /x/ld.so.preload; do sleep 1; done",
            volumeMounts=[{"name": "settings", "mountPath": "/x"}]))
        return pod
    outcome = attempt(case, attack, make, ("volume settings",))
    reasons = [event["reason"] for event in case.events_of(attack.pod_name)]
    if outcome.verdict == CAUGHT and "GpuEnforcementCovered" in reasons:
        # The agent checks every five seconds and ends the container, sometimes before the attack.
        return Outcome(REPORTED, f"GpuEnforcementCovered before it began, {outcome.detail}")
    return outcome


# ---- annotations


def no_scheduler(case: AttackCase, attack: Attack) -> Outcome:
    """A pod with the node's name in its specification bypasses the scheduler."""
    return attempt(case, attack, lambda gpu: placed(case, attack, gpu),
                   ("was not placed by Tessera",))


def placed(case: AttackCase, attack: Attack, gpu: Gpu, annotations: Json | None = None,
           limits: Json | None = None) -> Json:
    """A pod with the node's name in its specification, and with these annotations."""
    pod = case.tenant(attack.pod_name, gpu, TRIES, limits, nodeName=gpu.node)
    del pod["spec"]["nodeSelector"]
    pod["metadata"]["annotations"] = annotations or {}
    return pod


def copied(case: AttackCase, attack: Attack, *, other_node: bool) -> Outcome:
    """A pod with a node's name that has the annotations of a running pod, including the
    signature."""
    with case.gpu() as gpu:
        owner = case.tenant(f"{attack.pod_name}-owner", gpu, "exec sleep 1000")
        with case.made(owner):
            found = case.wait_running(owner["metadata"]["name"])
            stolen = {key: truth.annotation(found, key)
                      for key in (truth.ALLOCATION, truth.ALLOCATION_MAC, truth.ENFORCED_BY)}
            node = next(name for name in case.stack.nodes if (name != gpu.node) == other_node)
            target = Gpu(node, gpu.uuid)
            with case.made(placed(case, attack, target, stolen)) as (made,):
                peaks = (case.use.watch(gpu.uuid, SHARE),
                         case.use.watch(made["metadata"]["uid"], 0))
                return case.refused_or_judged(attack.pod_name, ("was made for pod uid",), *peaks)


def copied_here(case: AttackCase, attack: Attack) -> Outcome:
    """The copy is on the node that the allocation names."""
    return copied(case, attack, other_node=False)


def copied_there(case: AttackCase, attack: Attack) -> Outcome:
    """The copy is on another node than the allocation names."""
    return copied(case, attack, other_node=True)


def of_gpushare(case: AttackCase, attack: Attack) -> Outcome:
    """Annotations as gpushare's scheduler writes them."""
    moment = str(time.time_ns())
    forged = {"ALIYUN_COM_GPU_MEM_IDX": "0", "ALIYUN_COM_GPU_MEM_POD": "1",
              "ALIYUN_COM_GPU_MEM_DEV": "8", "ALIYUN_COM_GPU_MEM_ASSIGNED": "true",
              "ALIYUN_COM_GPU_MEM_ASSUME_TIME": moment}
    limits = {"aliyun.com/gpu-mem": 1}
    return attempt(case, attack, lambda gpu: placed(case, attack, gpu, forged, limits),
                   ("was not placed by Tessera",))


def waiting(case: AttackCase, attack: Attack, gpu: Gpu) -> Json:
    """A pod that waits for the tenant's own scheduler."""
    pod = case.tenant(attack.pod_name, gpu, TRIES, schedulerName="example.com/mine")
    pod["metadata"]["annotations"] = {}
    return pod


def forge(case: AttackCase, attack: Attack, made: Json, gpu: Gpu, signature: str) -> None:
    """Writes the allocation that the controller could have given the pod."""
    state = case.gpu_of(gpu.uuid)
    written = {truth.ALLOCATION: truth.allocation_text(made, state, 6 * GIB)}
    if signature:
        written[truth.ALLOCATION_MAC] = signature
    case.annotate(attack.pod_name, written)


def forged(signature: str, *words: str) -> Run:
    """The tenant's own scheduler writes an allocation, with this signature, and binds the pod."""
    def run(case: AttackCase, attack: Attack) -> Outcome:
        with case.gpu() as gpu, case.made(waiting(case, attack, gpu)) as (made,):
            peak = case.use.watch(made["metadata"]["uid"], 0)
            try:
                forge(case, attack, made, gpu, signature)
            except ApiError as error:
                return denied(error)
            case.api.json("POST", f"{PODS}/{attack.pod_name}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": attack.pod_name},
                "target": {"apiVersion": "v1", "kind": "Node", "name": gpu.node}})
            return case.refused_or_judged(attack.pod_name, words, peak)
    return run


def denied(error: ApiError) -> Outcome:
    """The outcome of a request that an admission policy denied. Raises any other error."""
    if error.code not in (403, 422):
        raise error
    why = str(error).rpartition("message")[2]
    return Outcome(CAUGHT, f"the API server refuses it: {why[:160]}")


def changed(change: Callable[[str], dict[str, str | None]], limits: Json | None = None) -> Run:
    """The owner changes the annotations of a running pod, which then tries to use more memory."""
    waits = "while ! test -e /tmp/go; do sleep 0.1; done; "

    def run(case: AttackCase, attack: Attack) -> Outcome:
        name = attack.pod_name
        with case.gpu() as gpu:
            peak = case.use.watch(gpu.uuid, SHARE)
            with case.made(case.tenant(name, gpu, waits + TRIES, limits)):
                running = case.wait_running(name)
                try:
                    case.api.json("PATCH", f"{PODS}/{name}", {"metadata": {"annotations": change(
                        truth.annotation(running, truth.ALLOCATION))}},
                        "application/merge-patch+json")
                except ApiError as error:
                    return denied(error)
                time.sleep(5)  # the agent reads limits every two seconds
                case.cluster.kubectl("exec", name, "--", "touch", "/tmp/go")
                return case.outcome(name, peak)
    return run


def larger(allocation: str) -> dict[str, str | None]:
    """The same allocation with 6 GiB and a higher revision."""
    document = json.loads(allocation)
    document["revision"] = 7
    document["containers"][0]["gpus"][0]["memory"] = 6 * GIB
    return {truth.ALLOCATION: json.dumps(document)}


def removed(_: str) -> dict[str, str | None]:
    """gpushare's annotations in place of the allocation."""
    return {truth.ALLOCATION: None, truth.ALLOCATION_MAC: None, "ALIYUN_COM_GPU_MEM_IDX": "0",
            "ALIYUN_COM_GPU_MEM_POD": "6", "ALIYUN_COM_GPU_MEM_ASSIGNED": "true"}


# ---- containers


def without_share(containers: Callable[[AttackCase, Gpu], Json]) -> Run:
    """A pod whose container `main` has no share."""
    def run(case: AttackCase, attack: Attack) -> Outcome:
        def make(gpu: Gpu) -> Json:
            pod = case.tenant(attack.pod_name, gpu, TRIES, {})
            pod["spec"]["containers"][0] |= containers(case, gpu)
            return pod
        return attempt(case, attack, make, ("never",), share=0)
    return run


def image_twice(case: AttackCase, attack: Attack) -> Outcome:
    """An image that sets the variable twice. The runtime replaces only one of them."""
    def make(gpu: Gpu) -> Json:
        pod = twice.pod(case.cluster)
        pod["metadata"]["name"] = attack.pod_name
        return pod
    return attempt(case, attack, make, ("sets NVIDIA_VISIBLE_DEVICES 2 times",))


def second_container(case: AttackCase, attack: Attack) -> Outcome:
    """A container without a share in a pod with a container that has one."""
    def make(gpu: Gpu) -> Json:
        pod = case.tenant(attack.pod_name, gpu, "exec sleep 1000")
        second = pods.container("second", script=TRIES, env=ALL)
        pod["spec"]["containers"].append({**second, "image": IMAGE})
        return pod
    return attempt(case, attack, make, ("never",), share=0, container="second")


def in_root_of_main(command: str) -> str:
    """A command that runs in the root folder of the container that has a share."""
    return ("for p in /proc/[0-9]*; do if test -e $p/root/usr/local/tessera/limits; then "
            f"exec chroot $p/root {command}; fi; done; exit 3")


def shared_processes(command: str) -> Run:
    """A second container that sees the first one's processes, and enters its root folder."""
    def run(case: AttackCase, attack: Attack) -> Outcome:
        script = RUN.format(command=f"sh -c '{in_root_of_main(command)}'")

        def make(gpu: Gpu) -> Json:
            pod = case.tenant(attack.pod_name, gpu, "exec sleep 1000",
                                shareProcessNamespace=True)
            second = pods.container("second", script="sleep 2; " + script)
            pod["spec"]["containers"].append({**second, "image": IMAGE})
            return pod
        return attempt(case, attack, make, ("never",), container="second")
    return run


def debug_container(command: str = "", **more: Any) -> Run:
    """kubectl debug of a pod with a share; with a command, in the root folder of its target."""
    def run(case: AttackCase, attack: Attack) -> Outcome:
        name = attack.pod_name
        script = RUN.format(command=f"sh -c '{in_root_of_main(command)}'") if command else TRIES
        with case.gpu() as gpu:
            peak = case.use.watch(gpu.uuid, SHARE)
            with case.made(case.tenant(name, gpu, "exec sleep 1000")) as (made,):
                uid = made["metadata"]["uid"]
                own = case.use.watch(uid, SHARE if command else 0)
                case.wait_running(name)
                debugger = {**pods.container("debugger", script=script, env=ALL), **more}
                del debugger["resources"]
                case.api.json("PATCH", f"{PODS}/{name}/ephemeralcontainers", {
                    "spec": {"ephemeralContainers": [{**debugger, "image": IMAGE}]}}, STRATEGIC)
                return case.outcome(name, peak, own, container="debugger")
    return run


def shell(command: str, script: str = RUN, **pod: Any) -> Run:
    """A shell in a container with a share, as root."""
    def run(case: AttackCase, attack: Attack) -> Outcome:
        name = attack.pod_name
        with case.gpu() as gpu:
            peak = case.use.watch(gpu.uuid, SHARE)
            tenant = case.tenant(name, gpu, script.format(command=command), **pod)
            with case.made(tenant) as (made,):
                own = case.use.watch(made["metadata"]["uid"], SHARE)
                return case.outcome(name, peak, own)
    return run


def with_env(**variables: str) -> Run:
    """A pod that sets these environment variables."""
    env = [{"name": name, "value": value} for name, value in variables.items()]
    return shell("guard_attack dlsym_handle", container={"env": env})


def hook(case: AttackCase, attack: Attack) -> Outcome:
    """The runtime executes the program in the container, as kubectl exec does."""
    command = ("busybox mkfifo /tmp/in; exec 3<>/tmp/in; "
               "env -i /usr/bin/guard_attack dlsym_handle <&3 > /tmp/out 2>&1 & sleep 1")
    tells = "while ! grep -q done /tmp/out; do sleep 0.1; done; cat /tmp/out; exec sleep 1000"
    container = {"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", command]}}}}
    return shell("", tells, container=container)(case, attack)


def host_folder(path: str, mount: str) -> Json:
    """Parts of a specification that mount a folder of the node at `mount`."""
    return {"container": {"volumeMounts": [{"name": "node", "mountPath": mount}]},
            "volumes": [{"name": "node", "hostPath": {"path": path}}]}


def raised_limits(case: AttackCase, attack: Attack) -> Outcome:
    """A pod that mounts the agent's folder as a volume and raises its own limits there."""
    parts = host_folder("/var/lib/tessera/guard", "/node")
    parts["container"]["env"] = [{"name": "POD_UID", "valueFrom": {"fieldRef": {
        "fieldPath": "metadata.uid"}}}]
    return shell("env LIMITS_FILE=/node/pods/$POD_UID/main/limits guard_attack raised_limits",
                 **parts)(case, attack)


def nodes_driver(case: AttackCase, attack: Attack) -> Outcome:
    """A privileged pod without a share that mounts the node's driver, and a neighbour with a share
    of the GPU."""
    parts = host_folder("/run/nvidia/driver", "/driver")
    with case.gpu() as gpu:
        command = (f"env CUDA_VISIBLE_DEVICES={gpu.uuid} LD_LIBRARY_PATH=/driver/{LIBRARIES} "
                   "guard_attack dlsym_handle")
        neighbour = case.tenant(f"{attack.pod_name}-neighbour", gpu, "exec sleep 1000")
        thief = case.tenant(attack.pod_name, gpu, RUN.format(command=command), {},
                              container={**parts["container"], **PRIVILEGED},
                              volumes=parts["volumes"])
        with case.made(neighbour):
            case.wait_running(neighbour["metadata"]["name"])
            with case.made(thief) as (made,):
                return case.outcome(attack.pod_name, case.use.watch(made["metadata"]["uid"], 0))


LIBRARIES = "usr/lib/x86_64-linux-gnu"
PRIVILEGED = {"securityContext": {"privileged": True}}
# A chroot to /usr, where the loader finds no list. The driver is below /usr.
IN_USR = ("mkdir -p /usr/lib64 /usr/tmp; cp -a /lib64/. /usr/lib64/; "
          f"for f in /lib/x86_64-linux-gnu/*; do test -f $f && cp -n $f /{LIBRARIES}/; done; "
          "busybox chroot /usr /bin/guard_attack dlsym_handle")
UNMOUNTS = ("sh -c 'umount /etc/ld.so.preload; rm -f /etc/ld.so.preload; mount -o bind /dev/null "
            "/etc/ld.so.preload; exec guard_attack dlsym_handle'")
WRITES = ("sh -c 'for f in /etc/ld.so.preload /usr/local/tessera/*; do echo x > $f; rm $f; done; "
          "exec guard_attack dlsym_handle'")
IN_NAMESPACE = ("busybox unshare -U -r -m sh -c 'mount -t tmpfs none /etc; "
                "exec guard_attack dlsym_handle'")


# Runs in the node's PID namespace. Each node of the test cluster has its own.
KILLS_AGENT = ("(while true; do for p in /proc/[0-9]*; do "
               "if test \"$(cat $p/comm)\" = tessera-agent; then kill -9 ${p#/proc/}; fi; done; "
               "sleep 0.2; done) > /dev/null 2>&1 & exec guard_attack symbol_walk")


def row(name: str, verdict: str, text: str, run: Run, limit: str = "") -> tuple[Attack, Run]:
    """One attack."""
    return Attack(name, verdict, text, POD, limit), run


VOLUMES = [
    row("mount_list", CAUGHT, "a volume at `/etc/ld.so.preload`", over("/etc/ld.so.preload")),
    row("mount_list_slash", CAUGHT, "the same, written `/etc/ld.so.preload/`",
        over("/etc/ld.so.preload/")),
    row("mount_list_dots", CAUGHT, "the same, written `/etc/x/../ld.so.preload`",
        over("/etc/x/../ld.so.preload")),
    row("mount_list_file", CAUGHT, "one file of a volume at `/etc/ld.so.preload` (`subPath`)",
        over("/etc/ld.so.preload", subPath="ld.so.preload")),
    row("mount_termination_message", CAUGHT,
        "`terminationMessagePath: /etc/ld.so.preload/`, a file that kubelet mounts for the pod",
        termination_message),
    row("mount_devices", CAUGHT,
        "a volume at `/var/run/nvidia-container-devices/GPU-…`, which asks NVIDIA's runtime for GPUs",
        over("/var/run/nvidia-container-devices/GPU-2", EMPTY, "asks NVIDIA's runtime for GPUs")),
    row("mount_nix_list", CAUGHT, "a volume at `/etc/ld-nix.so.preload`",
        over("/etc/ld-nix.so.preload")),
    row("mount_folder", CAUGHT, "a volume at `/usr/local/tessera`", over("/usr/local/tessera")),
    row("mount_library", CAUGHT, "a volume at `/usr/local/tessera/libtessera-guard.so`",
        over("/usr/local/tessera/libtessera-guard.so")),
    row("mount_limits", CAUGHT, "a volume at `/usr/local/tessera/limits`",
        over("/usr/local/tessera/limits")),
    row("mount_below", CAUGHT, "a volume below `/usr/local/tessera/accounts`",
        over("/usr/local/tessera/accounts/x")),
    row("mount_etc_read_only", CAUGHT, "a ConfigMap at `/etc`", over("/etc")),
    row("mount_etc_writable", CAUGHT, "a writable volume at `/etc`", over("/etc", EMPTY)),
    row("mount_usr_local", CAUGHT, "a writable volume at `/usr/local`", over("/usr/local", EMPTY)),
    row("linked_list", CAUGHT, "a symbolic link in the place of `/etc/ld.so.preload`", linked_list),
    row("detached_list", REPORTED,
        "a second container removes the file below the mount of `/etc/ld.so.preload`",
        detached_list),
]

ANNOTATIONS = [
    row("no_scheduler", CAUGHT, "a pod with `spec.nodeName`, which bypasses the scheduler",
        no_scheduler),
    row("copied_allocation", CAUGHT, "another pod's allocation and signature, on its node",
        copied_here),
    row("copied_allocation_elsewhere", CAUGHT, "the same, on another node", copied_there),
    row("gpushare_annotations", CAUGHT, "gpushare's annotations on a pod with `spec.nodeName`",
        of_gpushare),
    row("forged_allocation", CAUGHT, "an allocation that the tenant writes", forged("")),
    row("enlarged_allocation", CAUGHT, "a larger share in the allocation of a running pod",
        changed(larger)),
    row("removed_allocation", CAUGHT, "gpushare's annotations in place of the allocation",
        changed(removed, {"aliyun.com/gpu-mem": 1})),
]

# Similar attacks on a cluster without the admission policy.
WITHOUT_POLICY = [
    row("unsigned_allocation", CAUGHT, "an allocation that the tenant writes; no admission policy",
        forged("", "is missing")),
    row("wrong_signature", CAUGHT, "the same, with a signature that the tenant invents",
        forged("0" * 64, "does not match the annotation")),
    row("enlarged_without_policy", CAUGHT,
        "a larger share in the allocation of a running pod; no admission policy",
        changed(larger)),
    row("removed_without_policy", CAUGHT,
        "gpushare's annotations in place of the allocation; no admission policy",
        changed(removed, {"aliyun.com/gpu-mem": 1})),
]

CONTAINERS = [
    row("visible_without_share", CAUGHT, "`NVIDIA_VISIBLE_DEVICES=all` in a pod without a share",
        without_share(lambda case, gpu: {"env": ALL})),
    row("cuda_version", CAUGHT, "`CUDA_VERSION` alone, as old images have it, without a share",
        without_share(lambda case, gpu: {"env": [{"name": "CUDA_VERSION", "value": "9.0"}]})),
    row("image_twice", CAUGHT, "an image that sets `NVIDIA_VISIBLE_DEVICES` twice", image_twice),
    row("second_container", CAUGHT, "a second container of the pod, without a share",
        second_container),
    row("shared_processes", CAUGHT,
        "a second container that enters the first one's root folder (`shareProcessNamespace`)",
        shared_processes("/usr/bin/guard_attack dlsym_handle")),
    row("shared_processes_bypass", REPORTED, "the same, bypassing the guard",
        shared_processes("/usr/bin/guard_attack symbol_walk")),
    row("debug_container", CAUGHT, "a debug container with `NVIDIA_VISIBLE_DEVICES=all`",
        debug_container()),
    row("debug_container_target", CAUGHT, "a debug container that enters its target's root folder",
        debug_container("/usr/bin/guard_attack dlsym_handle", targetContainerName="main")),
    row("debug_container_bypass", REPORTED, "the same, bypassing the guard",
        debug_container("/usr/bin/guard_attack symbol_walk", targetContainerName="main")),
    row("host_pid", CAUGHT, "a pod with `hostPID`",
        shell("guard_attack dlsym_handle", hostPID=True)),
    row("host_pid_bypass", REPORTED, "the same, bypassing the guard",
        shell("guard_attack symbol_walk", hostPID=True)),
    row("privileged", CAUGHT, "a privileged container",
        shell("guard_attack dlsym_handle", container=PRIVILEGED)),
    row("privileged_unmounts", REPORTED, "a privileged container that unmounts the guard's list",
        shell(UNMOUNTS, container=PRIVILEGED)),
    row("privileged_driver", DOCUMENTED,
        "a privileged pod without a share that has the node's driver (here by a volume)",
        nodes_driver, "A privileged container can open every device of its node."),
    row("host_path_limits", DOCUMENTED, "a `hostPath` volume at the agent's folder: larger limits",
        raised_limits, "at the agent's own folders"),
    row("env_visible", CAUGHT, "`NVIDIA_VISIBLE_DEVICES=all` beside a share",
        with_env(NVIDIA_VISIBLE_DEVICES="all")),
    row("env_cuda_visible", CAUGHT, "`CUDA_VISIBLE_DEVICES` with other GPUs",
        with_env(CUDA_VISIBLE_DEVICES="0,1,2,3")),
    row("env_loader", CAUGHT, "`LD_PRELOAD`, `LD_LIBRARY_PATH` and `GLIBC_TUNABLES` of the pod",
        with_env(LD_PRELOAD="", LD_LIBRARY_PATH="/tmp", LD_BIND_NOW="1",
                 GLIBC_TUNABLES="glibc.rtld.optional_static_tls=0")),
    row("env_tessera", CAUGHT, "the variables that Tessera and gpushare set",
        with_env(TESSERA_GPU_MEMORY_BYTES=str(8 * GIB), ALIYUN_COM_GPU_MEM_CONTAINER="8",
                 ALIYUN_COM_GPU_MEM_DEV="8", ALIYUN_COM_GPU_MEM_IDX="0")),
    row("empty_environment", CAUGHT, "an empty environment",
        shell("env -i /usr/bin/guard_attack dlsym_handle")),
    row("exec_hook", CAUGHT, "a program that the runtime executes (`postStart`, `kubectl exec`)",
        hook),
    row("root_unmounts", CAUGHT, "root that unmounts, removes and covers the guard's list",
        shell(UNMOUNTS)),
    row("root_writes", CAUGHT, "root that writes to the guard's files and removes them",
        shell(WRITES)),
    row("root_changes_root", REPORTED, "root in a `chroot` whose loader finds no list",
        shell(f"sh -c '{IN_USR}'")),
    row("mount_namespace", REPORTED, "a mount namespace of its own, without the list",
        shell(IN_NAMESPACE)),
]

# This attack disturbs the other attacks on the node, so it runs last.
LAST = [
    row("host_pid_kills_agent", DOCUMENTED,
        "root in a pod with `hostPID` that kills the agent, and bypasses the guard",
        shell(f"sh -c '{KILLS_AGENT}'", hostPID=True), "kills the agent again and again"),
]
