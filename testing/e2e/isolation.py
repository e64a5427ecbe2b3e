"""Attempts of a pod's specification or image to evade the enforcement of its share, on the real
kubelet and runtime."""

from __future__ import annotations

import json
import time
from typing import Any

from e2e import pods, truth
from e2e.case import PODS, StackCase
from e2e.gate import CHECKPOINT
from e2e.gate import WITHOUT_GPU
from e2e.truth import Json

SHARE = pods.aliyun(2)
TAKES_TOO_MUCH = "gpuhog --once 3GiB"
IDLE = "echo memory: free; exec sleep 1000"
FORGETS_EVERY = 10  # seconds (RegionGarbageCollector::kPeriod)


def with_volume(name: str, path: str, volume: Json, *, script: str = "exec sleep 1000",
                **mount: Any) -> Json:
    """A pod with a share of 2 GiB whose container has a volume at `path`."""
    main = pods.container("main", SHARE, script=script,
                          volumeMounts=[{"name": "settings", "mountPath": path, **mount}])
    return pods.pod(name, main, node="node-a", volumes=[{"name": "settings", **volume}])


class Isolated(StackCase):
    """Runs on case.two_nodes; the agents have the guard."""

    guard = True

    CONFIG_MAP: Json = {"configMap": {"name": "settings"}}
    EMPTY_DIR: Json = {"emptyDir": {}}

    def setUp(self) -> None:
        self.cluster.kubectl("apply", "-f", "-", input=(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n"
            "data: {ld.so.preload: '', limits: ''}\n"))

    def says(self, name: str, command: str, container: str = "main") -> str:
        """The output of a shell command in the container, including errors."""
        return self.cluster.kubectl("exec", name, "-c", container, "--", "sh", "-c",
                                    f"{{ {command}; }} 2>&1; true")

    def test_a_volume_in_place_of_the_guards_files(self) -> None:
        """A volume at a path of the guard is refused, however the path is spelled, because the
        runtime would mount it on top of the guard's file."""
        paths = {"slash": "/etc/ld.so.preload/", "dots": "/etc/x/../ld.so.preload",
                 "doubled": "/etc//ld.so.preload", "nix": "/etc/ld-nix.so.preload",
                 "library": "/usr/local/tessera/libtessera-guard.so",
                 "below": "/usr/local/tessera/accounts/x"}
        self.create(*(with_volume(f"over-{name}", path, self.CONFIG_MAP)
                      for name, path in paths.items()),
                    with_volume("over-file", "/etc/ld.so.preload", self.CONFIG_MAP,
                                subPath="ld.so.preload"))
        for name in (*paths, "file"):
            self.assert_refused(f"over-{name}", "volume settings is mounted at",
                                "mount it somewhere else")

    def test_other_mounts_of_a_tenants_choice(self) -> None:
        """The file that kubelet mounts for a termination message, and NVIDIA's volume that requests
        GPUs."""
        message = {"terminationMessagePath": "/etc/ld.so.preload/"}
        self.create(pods.pod("message", pods.container("main", SHARE, **message), node="node-a"),
                    with_volume("asks", "/var/run/nvidia-container-devices/GPU-2", self.EMPTY_DIR))
        self.assert_refused("message", "the file of terminationMessagePath is mounted at")
        self.assert_refused("asks", "asks NVIDIA's runtime for GPUs beside its GPU share")

    def test_a_volume_above_the_guards_files(self) -> None:
        """In a writable volume the guard's files are mounted on top. A read-only volume is refused,
        because the runtime could not create the files in it."""
        self.create(with_volume("read-only", "/etc", self.CONFIG_MAP))
        self.assert_refused("read-only", "volume settings is mounted at /etc", "read-only")
        self.running(with_volume("writable", "/etc", self.EMPTY_DIR,
                                 script=IDLE))
        self.assertIn("OUT_OF_MEMORY", self.says("writable", TAKES_TOO_MUCH))

    def test_a_container_that_asks_for_no_gpu_sees_none(self) -> None:
        show = "echo visible=$NVIDIA_VISIBLE_DEVICES; echo memory: free; exec sleep 1000"
        env = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
        self.running(pods.pod("none", pods.container("main", script=show, env=env), node="node-a"))
        expected = "void" if self.identity == "nri" else "all"  # docs/limits.md
        self.assertIn(f"visible={expected}\n", self.log("none").text)

    def test_a_privileged_container_uses_its_own_gpus(self) -> None:
        """It has the device files of the whole node. CUDA_VISIBLE_DEVICES limits it to its own
        GPUs."""
        privileged: Json = {"securityContext": {"privileged": True}}
        made, = self.running(pods.pod(
            "privileged", pods.container("main", SHARE, **privileged), node="node-a"))
        self.assertEqual(self.says("privileged", "echo $CUDA_VISIBLE_DEVICES").strip(),
                         ",".join(truth.uuids(made)))
        self.assertIn("OUT_OF_MEMORY", self.says("privileged", TAKES_TOO_MUCH))

    def test_a_debug_container_sees_no_gpu(self) -> None:
        """A debug container, as kubectl debug adds it to a pod with a share, requests no GPU."""
        self.running(pods.simple("debugged", SHARE, node="node-a"))
        debugger = pods.container("debugger", script=WITHOUT_GPU, targetContainerName="main",
                                  env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])
        del debugger["resources"]  # an ephemeral container cannot have any
        self.api.json("PATCH", f"{PODS}/debugged/ephemeralcontainers",
                      {"spec": {"ephemeralContainers": [debugger]}},
                      "application/strategic-merge-patch+json")
        seen = self.log("debugged", "debugger")
        expected = "void" if self.identity == "nri" else "all"  # docs/limits.md
        self.assertEqual(seen.env["NVIDIA_VISIBLE_DEVICES"], expected)
        self.assertNotIn("libcuda", seen.text)
        self.assertIn("OUT_OF_MEMORY", self.says("debugged", TAKES_TOO_MUCH))

    def test_a_node_without_a_device_for_the_gpu(self) -> None:
        """The container does not start without its GPU. The event and doctor name the missing CDI
        device. The container starts as soon as the CDI specification exists."""
        self.cluster.nsenter("node-b", "mv", "/run/cdi/nvidia.json", "/run/cdi/nvidia.off")
        try:
            self.create(pods.simple("no-device", SHARE, node="node-b"))
            self.assert_refused("no-device", "no CDI device of kind nvidia.com/gpu for GPU-",
                                "/etc/cdi or /var/run/cdi", "--cdi-kind", "runtimeClassName")
            self.cluster.wait_for("doctor says so", lambda: (
                "node-b: no CDI device of kind" in self.doctor_check("injection")["found"]))
        finally:
            self.cluster.nsenter("node-b", "mv", "/run/cdi/nvidia.off", "/run/cdi/nvidia.json")
        self.wait_running("no-device")

    def test_kubelet_that_lost_its_record_takes_no_share_away(self) -> None:
        """kubelet restarts with a damaged checkpoint, so its record is empty, and admits a new GPU
        pod. Running pods keep their shares, even one that has not used its GPU yet."""
        computes, idle = self.running(
            pods.simple("computes", SHARE, node="node-a"),
            pods.pod("idle", pods.container("main", SHARE, script=IDLE), node="node-a"))
        self.cluster.nsenter("node-a", "sh", "-c", f"echo rubbish > {CHECKPOINT}")
        self.cluster.restart("kubelet", "node-a")
        # The Node's resources may be out of date; kubelet's own record is current.
        self.cluster.wait_for("kubelet has its devices again", lambda: "tessera.dev/gpu-share" in (
            self.cluster.nsenter("node-a", "cat", CHECKPOINT)))
        self.running(pods.simple("new", SHARE, node="node-a"))
        time.sleep(2 * FORGETS_EVERY)
        for name in ("computes", "idle"):
            self.assertIn("OUT_OF_MEMORY", self.says(name, TAKES_TOO_MUCH))
        for made in (computes, idle):
            uid = made["metadata"]["uid"]
            self.cluster.nsenter("node-a", "ls", f"/var/lib/tessera/guard/pods/{uid}/main/accounts")
            self.assertEqual(self.pod(made["metadata"]["name"])["status"]["containerStatuses"][0]
                             ["restartCount"], 0)


class IsolatedByNri(Isolated):
    """Cases that only NRI can detect, because it shows the runtime's view of a container."""

    def linked(self, name: str) -> Json:
        """A pod whose volume at /etc makes the guard's list a link, and that mounts an empty list
        at the link's target. The runtime follows the link, so the empty list is on top."""
        pod = with_volume(name, "/etc", self.EMPTY_DIR)
        pod["spec"]["initContainers"] = [pods.container(
            "links", script="ln -s /zz/list /x/ld.so.preload",
            volumeMounts=[{"name": "settings", "mountPath": "/x"}])]
        pod["spec"]["volumes"].append({"name": "lists"} | self.CONFIG_MAP)
        pod["spec"]["containers"][0]["volumeMounts"].append(
            {"name": "lists", "mountPath": "/zz/list", "subPath": "ld.so.preload"})
        return pod

    def test_a_link_in_place_of_the_guards_list(self) -> None:
        """The pod's specification does not show the link, but the mounts of the container do."""
        self.create(self.linked("linked"))
        self.assert_refused("linked", "/etc/ld.so.preload", "reached by a symbolic link")

    def test_refused_starts_while_others_start(self) -> None:
        """containerd keeps working: a request of the agent to containerd, while containerd calls
        the agent, can block containerd forever (containerd's issue 13733)."""
        refused = [f"refused-{n}" for n in range(6)]
        for turn in range(3):
            others = [f"other-{turn}-{n}" for n in range(6)]
            self.create(*(self.linked(name) for name in refused),
                        *(pods.simple(name, pods.aliyun(1), node="node-a") for name in others))
            for name in refused:
                self.assert_refused(name, "/etc/ld.so.preload", "reached by a symbolic link")
            for name in others:
                self.wait_running(name)
            self.delete_all()

    def test_a_container_that_runs_without_its_share(self) -> None:
        """The runtime starts such a container while it does not call the agent. Here the test
        writes into kubelet's record that a container has a device that Tessera did not place."""
        made, = self.running(pods.pod("unshared", pods.container("main", script=IDLE),
                                      node="node-a"))
        kept = self.cluster.nsenter("node-a", "cat", CHECKPOINT)
        record = json.loads(kept)
        record["Data"]["PodDeviceEntries"] = [*(record["Data"]["PodDeviceEntries"] or []), {
            "PodUID": made["metadata"]["uid"], "ContainerName": "main",
            "ResourceName": "tessera.dev/gpu-share", "DeviceIDs": {"-1": ["slot"]}, "AllocResp": ""}]
        self.cluster.write_file("node-a", CHECKPOINT, json.dumps(record))
        self.cluster.restart("containerd", "node-a")
        self.wait_event("unshared", "runs without its GPU share", "is restarted")
        self.cluster.write_file("node-a", CHECKPOINT, kept)
        self.cluster.wait_for("it started again", lambda: (
            self.pod("unshared")["status"]["containerStatuses"][0]["restartCount"] > 0))
        self.wait_running("unshared")

    def test_a_neighbour_that_removes_the_guards_list(self) -> None:
        """If another container removes the file under a mount, the mount disappears."""
        pod = with_volume("detached", "/etc", self.EMPTY_DIR,
                          script=IDLE)
        pod["spec"]["containers"].append(pods.container(
            "remover", script="while rm -f /x/ld.so.preload; do sleep 1; done",
            volumeMounts=[{"name": "settings", "mountPath": "/x"}]))
        self.create(pod)
        self.wait_event("detached", "no longer in force", "/etc/ld.so.preload", "is restarted")
