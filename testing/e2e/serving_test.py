"""`tessera serve` on a real cluster: models that share a GPU, one of which is updated, a model that
does not start, commands that are killed, and mistakes. docs/users/serving.md has these steps, and
cluster.md what the views of the cluster show of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from e2e import console_block
from e2e.case import PODS
from e2e.serving_case import ServingCase
from kube import gateway
from stack import builds

Json = dict[str, Any]
SECONDS = 120  # for what takes seconds on a machine with nothing else to do
PAGES = builds.ROOT / "docs" / "users"
GIB = 1 << 30
CONTEXT = 600 << 20  # --gpu-context-memory by default
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SERVICES = "/api/v1/namespaces/default/services"
ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes"
GATEWAYS = "/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
USAGE, NOT_FOUND, CONFLICT, DENIED = 2, 3, 4, 5  # exit statuses


def fraction(share: int) -> float:
    """Of the memory that a container with the guard sees."""
    return int((share - CONTEXT) * 10000 / share) / 10000


def general(text: str) -> str:
    """Without addresses, ages and generated names, and the widths of columns that depend on them."""
    text = re.sub(r"\b\d+\.\d+\.\d+\.\d+\b", "ADDRESS", text)
    text = re.sub(r"(serving)-\w{8,10}-\w{5}\b", r"\1-POD", text)
    text = re.sub(r"\b\d+[sm]\b", "AGE", text)
    return re.sub(r"-{2,}|(?<=\S) {2,}", " ", text)


class ServingTest(ServingCase):
    # ---- tools

    def serve(self, *arguments: str) -> str:
        return self.tessera_says("serve", *arguments)

    def tensorflow(self, name: str, *more: str, model: str = "half") -> list[str]:
        return ["tensorflow", f"--name={name}", f"--model-name={model}",
                f"--model-path=/models/{model}", "--data=models:/models", f"--image={self.image}",
                *more]

    def get(self, name: str) -> Json:
        """name: with the flag --version, if there are several."""
        found: Json = json.loads(self.serve("get", *name.split(), "-o", "json"))
        return found

    def available(self, *names: str, replicas: int = 1) -> list[Json]:
        """Waits until the jobs have all their pods, and returns them."""
        def found() -> list[Json]:
            jobs = [self.get(name) for name in names]
            return jobs if all(job["availableInstances"] == replicas == len(job["instances"])
                               for job in jobs) else []
        jobs: list[Json] = self.cluster.wait_for(f"{names} are available", found, SECONDS)
        return jobs

    def predict(self, job: Json, model: str, value: float, version: str = "") -> float:
        """Asks the Service for a prediction, from the network of the cluster."""
        where = f"http://{job['ip']}:8501/v1/models/{model}{version}:predict"
        text = self.cluster.in_network("curl", "-s", "-m", "10", "-d",
                                       json.dumps({"instances": [value]}), where)
        prediction: float = json.loads(text)["predictions"][0]
        return prediction

    def assert_nothing_is_left(self) -> None:
        def is_gone() -> bool:
            objects = [item["metadata"]["name"] for path in (DEPLOYMENTS, SERVICES, CONFIG_MAPS, PODS)
                       for item in self.api.json("GET", path)["items"]]
            return not [name for name in objects if "serving" in name]
        self.cluster.wait_for("no object of a serving job is left", is_gone, SECONDS)

    def assert_steps(self, steps: list[console_block.Step],
                     wait_before: Mapping[str, Sequence[str]]) -> None:
        """The commands of a page, in their order, print what the page says. `wait_before`: the jobs
        that must be available before the command with this text."""
        path = f"{builds.build_directory() / 'bin'}:{os.environ['PATH']}"
        for step in steps:
            command = step.command
            if "serve tensorflow" in command:
                command += f" --image {self.image}"  # in place of TensorFlow Serving's own
            for text, names in wait_before.items():
                if text in command:
                    self.available(*names)
            printed = console_block.run(command, {**self.environment(), "PATH": path}, Path("/"))
            self.assertEqual(general(printed), general(step.printed), command)
        self.assert_nothing_is_left()

    def assert_nodes_show(self, jobs: list[Json]) -> None:
        """Three shares of 3 GiB on one of the two GPUs, in all forms of `top node`."""
        table = self.tessera_says("top", "node", "-s", "-o", "wide").splitlines()
        self.assertRegex(table[1], r"^node-a  \S+ +<none>  Ready   0\.6/2 +9\.0/30\.0 GiB +0/200 ")
        self.assertEqual(sorted(re.findall(r"(\d+\.\d)/15\.0 GiB", table[1])), ["0.0", "9.0"])
        self.assertEqual(table[4:6], ["0.6/2 (30.0%)", table[5]])
        [node] = json.loads(self.tessera_says("top", "node", "-o", "json"))["gpuShareNodes"]
        self.assertEqual((node["totalGPUMemory"], node["allocatedGPUMemory"], node["status"]),
                         (30 * GIB, 9 * GIB, "Ready"))
        self.assertEqual(
            sorted((pod["name"], pod["status"], *pod["gpuMemoryAllocation"].values())
                   for pod in node["instances"]),
            sorted((job["instances"][0]["name"], "Running", 3 * GIB) for job in jobs))
        details = self.tessera_says("top", "node", "-d", "node-a")
        for job in jobs:
            self.assertRegex(details, rf"default +{job['instances'][0]['name']} +Running +3\.0 GiB "
                                      r"+gpu\d\(3\.0GiB\)")

    def kill_after_a_line(self, *arguments: str) -> None:
        """Starts `tessera serve`, and kills it when it has printed what it did first."""
        command = [str(builds.program("tessera")), "serve", *arguments]
        with subprocess.Popen(command, env=self.environment(), text=True,
                              stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGKILL)

    def serve_versions(self, *versions: str) -> None:
        """Versions v1 and v2 of a job serve those of the model, which answer 4 with 4 and 5. Waits
        until they are available."""
        for version in versions:
            self.serve(*self.tensorflow("half", f"--version={version}", "--gpumemory=1",
                                        f"--version-policy=specific:{version[1:]}"))
        self.cluster.wait_for(f"{versions} are available", lambda: all(
            self.version(version)["availableInstances"] == 1 for version in versions), SECONDS)

    def version(self, version: str) -> Json:
        found: Json = json.loads(self.serve("get", "half", "--version", version, "-o", "json"))
        return found

    def split(self, *arguments: str) -> str:
        return self.serve("traffic-split", "--name=half", *arguments)

    def addresses(self) -> list[str]:
        """The column ADDRESS of all jobs, of an address only the part of the traffic."""
        rows = [re.split(r"\s{2,}", row) for row in self.serve("list").splitlines()[1:]]
        return [re.sub(r"^[\d.]+", "", row[5]) for row in rows]

    def answers(self, service: str, count: int) -> list[float]:
        """What a Service answers to requests, each by a connection of its own."""
        address = self.api.json("GET", f"{SERVICES}/{service}")["spec"]["clusterIP"]
        ask = (f"curl -s -m 10 -d '{{\"instances\":[4]}}' "
               f"http://{address}:8501/v1/models/half:predict; echo")
        text = self.cluster.in_network("sh", "-c", f"for i in $(seq {count}); do {ask}; done")
        return [json.loads(line)["predictions"][0] for line in text.splitlines() if line]

    # ---- tests

    def test_three_models_share_a_gpu_and_one_is_updated(self) -> None:
        self.assertIn("0.0/30.0 GiB", self.tessera_says("top", "node", "-s").splitlines()[1])
        for name in ("one", "two", "three"):
            said = self.serve(*self.tensorflow(name, "--gpumemory", "3", "--wait"))
            self.assertEqual(said.splitlines()[-1], f"{name}: 1/1 pods are available")
            self.assertIn(f"deployment.apps/{name}-tensorflow-serving created\n"
                          f"service/{name}-tensorflow-serving created\n", said)
        jobs = self.available("one", "two", "three")
        gpus = {job["instances"][0]["gpus"][0]["uuid"] for job in jobs}
        self.assertEqual(len(gpus), 1, "all on one GPU")
        for job in jobs:
            self.assertEqual(self.predict(job, "half", 4), 5)  # the newest version
            log = self.serve("logs", job["name"])
            self.assertIn(f"share: {3 * GIB} of {3 * GIB} visible bytes; "
                          f"per_process_gpu_memory_fraction={fraction(3 * GIB)}", log)
            self.assertRegex(log, rf"allocated {int(3 * GIB * fraction(3 * GIB))} of {3 * GIB}")
        self.assert_nodes_show(jobs)
        self.assertEqual(self.serve("attach", "one", "--", "ls", "/models"), "double\nhalf\n")
        # By gRPC, over the Service of another job.
        client = ("attach", "one", "--", "model-client", f"{jobs[1]['ip']}:8500")
        self.assertEqual(self.serve(*client, "status", "half"), "2 AVAILABLE\n")
        self.assertEqual(self.serve(*client, "predict", "half", "4", "6"), "5\n6\n")
        table = self.serve("list").splitlines()
        self.assertEqual(re.split(r"\s{2,}", table[0]), [
            "NAME", "TYPE", "VERSION", "DESIRED", "AVAILABLE", "ADDRESS", "PORTS", "GPU", "GPU_MEM",
            "GPU_CORE"])
        self.assertRegex(table[1], r"^one    Tensorflow  N/A      1        1          \S+ +"
                                   r"GRPC:8500,RESTFUL:8501  0.2  3Gi      N/A$")

        before = {job["name"]: job["instances"][0]["name"] for job in jobs}
        self.serve("update", "tf", "--name", "two", "--gpumemory=4", "--version-policy",
                   "specific:1", "--env", "A=1", "--wait")
        two = self.cluster.wait_for("the update", lambda: (job := self.get("two"))["instances"] and
                                    len(job["instances"]) == 1 and job["availableInstances"] == 1 and
                                    job["instances"][0]["name"] != before["two"] and job, SECONDS)
        self.assertEqual(two["requestGPUMemory"], 4 * GIB)
        self.assertEqual(self.predict(two, "half", 4), 4)  # version 1
        self.assertIn(f"per_process_gpu_memory_fraction={fraction(4 * GIB)}",
                      self.serve("logs", "two"))
        for name in ("one", "three"):
            job = self.get(name)
            self.assertEqual(job["instances"][0]["name"], before[name])
            self.assertEqual(job["instances"][0]["restartCount"], 0)
        # What another program changed is kept by an update that does not concern it.
        self.cluster.kubectl("set", "env", "deployment/two-tensorflow-serving", "OTHER=1")
        self.serve("update", "tf", "--name", "two", "--max-surge=0", "--max-unavailable=1",
                   "--replicas=1")
        spec = self.api.json("GET", f"{DEPLOYMENTS}/two-tensorflow-serving")["spec"]
        self.assertEqual(spec["strategy"]["rollingUpdate"], {"maxSurge": 0, "maxUnavailable": 1})
        self.assertIn({"name": "OTHER", "value": "1"},
                      spec["template"]["spec"]["containers"][0]["env"])
        # A whole GPU replaces the share, and the number of pods stays.
        self.serve("update", "tensorflow", "--name", "three", "--replicas", "0")
        self.serve("update", "tensorflow", "--name", "three", "--gpus", "1")
        three = self.get("three")
        self.assertEqual((three["requestGPUs"], three["requestGPUMemory"],
                          three["desiredInstances"]), (1, 0, 0))
        self.serve("delete", "one", "two", "three")
        self.assert_nothing_is_left()

    def test_the_guide(self) -> None:
        steps = [step for heading in ("Several models on one GPU", "Change a model")
                 for step in console_block.steps(PAGES / "serving.md", heading)]
        self.assertEqual(len(steps), 6)
        self.assert_steps(steps, {"serve list": ("half", "double")})

    def test_the_guide_to_versions(self) -> None:
        steps = console_block.steps(PAGES / "serving.md", "Traffic of several versions")
        self.assertEqual(len(steps), 7)
        self.assert_steps(steps, {"serve traffic-split": ("half --version=v1", "half --version=v2")})

    def test_the_guide_to_the_cluster(self) -> None:
        steps = console_block.steps(PAGES / "cluster.md", "Before and after")
        self.assertEqual(len(steps), 5)
        self.assert_steps(steps, {"top node -s": ("half",)})

    def test_what_the_user_is_and_has(self) -> None:
        self.assertRegex(self.tessera_says("data", "list"),
                         r"^NAME    ACCESSMODE     DESCRIPTION  OWNER  AGE\n"
                         r"models  ReadWriteMany +\S+\n$")
        caller = json.loads(self.tessera_says("whoami"))
        self.assertEqual((caller["IsAdminUser"], caller["Namespace"]), (True, "default"))
        self.assertIn("system:masters", caller["Groups"])
        self.assertEqual(self.run_tessera("data", "list", "-n", "other").stderr,
                         "tessera: no volume that can be mounted in namespace other\n")

    def test_a_model_that_is_not_there(self) -> None:
        """The pod runs and is not ready; get says so, and the log why."""
        self.serve(*self.tensorflow("none", "--gpumemory", "3Gi", model="nothing"))
        def waits() -> Json | None:
            job = self.get("none")
            return job if job["instances"] and "not ready" in job["instances"][0].get(
                "reason", "") else None
        self.cluster.wait_for("the reason", waits, SECONDS)
        self.assertIn("Why it waits:\n  pod none-", self.serve("get", "none"))
        self.cluster.wait_for("the log", lambda: "No versions of servable nothing found" in
                              self.serve("logs", "none", "--tail", "3"), SECONDS)

    def test_a_share_that_fits_nowhere(self) -> None:
        done = self.run_tessera("serve", *self.tensorflow("large", "--gpumemory", "40"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no GPU of the cluster has 40Gi; the largest is GPU 0 of node node-a",
                      done.stderr)
        self.cluster.wait_for("the reason", lambda: "Insufficient GPU Memory" in
                              self.serve("get", "large"), SECONDS)

    def test_a_killed_command_is_completed_by_the_same_command(self) -> None:
        """Killed after the Deployment was made: delete removes it, and the same command adds what is
        missing."""
        command = self.tensorflow("cut", "--gpumemory=2", "--version-policy=all")
        self.kill_after_a_line(*command)
        self.cluster.kubectl("delete", "service", "cut-tensorflow-serving", "--ignore-not-found")
        self.serve(*command)
        job, = self.available("cut")
        self.assertEqual(self.predict(job, "half", 4, "/versions/1"), 4)
        self.assertEqual(self.predict(job, "half", 4, "/versions/2"), 5)
        self.refused(CONFLICT, "the serving job cut exists already", "serve", *command)
        # The name is free again at once, although the old objects may still be there.
        self.serve("delete", "cut")
        self.serve(*command)
        self.available("cut")
        self.serve("delete", "cut")
        self.assert_nothing_is_left()

    def test_mistakes(self) -> None:
        model = self.tensorflow("mistake")
        self.refused(USAGE, "--gpus: cannot be used with --gpumemory", "serve", *model, "--gpus=1",
                     "--gpumemory=3")
        self.refused(USAGE, "a share of 500Mi has no memory for TensorFlow beside the 600Mi",
                     "serve", *model, "--gpumemory=500Mi")
        self.refused(USAGE, "--name: \"" + 60 * "a" + "\" has 60 characters, and may have at most 44",
                     "serve", *self.tensorflow(60 * "a"))
        self.refused(USAGE, "--model-path: is missing", "serve", "tensorflow", "--name=x",
                     "--model-name=x")
        self.refused(NOT_FOUND, "there is no serving job nothing", "serve", "get", "nothing")
        self.refused(NOT_FOUND, "namespaces \"nowhere\" not found", "serve", *model, "-n", "nowhere")
        self.assertEqual(self.run_tessera("serve", "list").stderr,
                         "tessera: no serving jobs in namespace default\n")
        self.assert_nothing_is_left()

    def test_several_versions_of_a_custom_server(self) -> None:
        """v1 has a path for its probes, v2 Arena's flags of probes, and older forms of flags."""
        v2 = ("--readiness-probe-action=httpGet", "--readiness-probe-option=periodSeconds: 2",
              "--readiness-probe-action-option=path: /v1/models/half",
              "--liveness-probe-action=exec",
              "--liveness-probe-action-option=command: test -n \"$ARENA_POD_IP\"")
        for version, flags in {"v1": ("--health-path=/v1/models/half",), "v2": v2}.items():
            done = self.run_tessera(
                "serve", "custom", "--servingName=style", f"--version={version}",
                f"--image={self.image}", "--restfulPort=8501", *flags, "--gpumemory=1",
                "--data=models:/models", "--", "exec", "/usr/bin/tensorflow_model_server",
                "--rest_api_port=8501", "--model_name=half", "--model_base_path=/models/half")
            self.assertEqual(
                (done.returncode, done.stderr),
                (0, "tessera: --servingName is an older form; use --name\n"
                    "tessera: --restfulPort is an older form; use --restful-port\n"))
        self.refused(CONFLICT, "2 serving jobs have the name style; add --version or --type",
                     "serve", "get", "style")
        job, = self.available("style --version=v2")
        pod = job["instances"][0]
        self.assertEqual(self.serve("attach", "style", "--version=v2", "--", "sh", "-c",
                                    "echo $ARENA_POD_NAME $ARENA_POD_NAMESPACE $ARENA_NODE_NAME"),
                         f"{pod['name']} default node-a\n")
        logs = ("logs", "style", "--version=v2")
        self.assertTrue(self.serve(*logs, "--since-time=2020-01-01T01:00:00+01:00"))
        self.assertEqual(self.serve(*logs, "--since-time=2100-01-01T00:00:00Z"), "")
        self.refused(USAGE, "--since-time: \"now\" is not a time of RFC 3339", "serve", *logs,
                     "--since-time=now")
        self.serve("delete", "style", "--version", "v1")
        self.assertEqual(self.get("style")["version"], "v2")

    def test_traffic_is_split_by_the_numbers_of_pods(self) -> None:
        """Real connections through kube-proxy. The shared Service outlives a version of the split."""
        self.serve_versions("v1", "v2")
        self.refused(CONFLICT, "v1, v2 have 1:1 pods, which splits the connections 50:50, and not "
                     "25:75; use --scale", "serve", "traffic-split", "--name=half", "-v", "v1:25",
                     "-v", "v2:75")
        self.assertIn("deployment.apps/half-v2-tensorflow-serving scaled to 3\n",
                      self.split("-v", "v1:25", "-v", "v2:75", "--scale"))
        pods = {pod["name"] for pod in self.version("v1")["instances"]}
        self.cluster.wait_for("three pods of v2", lambda: self.addresses() == ["(25%)", "(75%)"],
                              SECONDS)
        uid = self.api.json("GET", f"{SERVICES}/half")["metadata"]["uid"]
        answers = self.answers("half", 120)
        self.assertEqual((len(answers), set(answers)), (120, {4, 5}))
        self.assertLess(answers.count(4), 60, "v1 has one of four pods")
        self.assertEqual({pod["name"] for pod in self.version("v1")["instances"]}, pods,
                         "a version that takes part already is not restarted")
        # A new version gets nothing, and takes the place of another one on demand.
        said = self.serve(*self.tensorflow("half", "--version=v3", "--gpumemory=1",
                                           "--version-policy=specific:1"))
        self.assertIn("version v3 gets none of the traffic", said)
        self.assertEqual(self.addresses(), ["(25%)", "(75%)", "N/A"])
        self.kill_after_a_line("traffic-split", "--name=half", "-v", "v1:0", "-v", "v2:100")
        self.split("-v", "v1:0", "-v", "v2:100")
        self.cluster.wait_for("v1 gets nothing", lambda: set(self.answers("half", 20)) == {5},
                              SECONDS)
        self.assertEqual(self.addresses(), ["N/A", "(100%)", "N/A"])
        self.serve("update", "tf", "--name=half", "--version=v1", "--env", "A=1")
        self.assertEqual(self.addresses(), ["N/A", "(100%)", "N/A"], "an update keeps the part")
        self.refused(CONFLICT, "version v2 of half gets 100% of the traffic of service/half, which "
                     "would fail", "serve", "delete", "half", "--version=v2")
        self.split("-v", "v3")
        self.serve("delete", "half", "--version=v2")
        self.serve("delete", "half", "--version=v1")
        self.cluster.wait_for("only v3 answers", lambda: (answers := self.answers("half", 5)) and
                              set(answers) == {4}, SECONDS)
        self.assertEqual(self.api.json("GET", f"{SERVICES}/half")["metadata"]["uid"], uid)
        self.assertEqual(self.split("--remove"), "service/half deleted\n")
        self.refused(NOT_FOUND, "--remove: the versions of half share no address", "serve",
                     "traffic-split", "--name=half", "--remove")
        self.refused(USAGE, "--remove: ends the whole split", "serve", "traffic-split",
                     "--name=half", "--remove", "-v", "v3")
        self.assertNotIn("%", self.serve("list"))
        self.assertIn("service/half created", self.split("-v", "v3"))
        self.serve("delete", "half")
        self.cluster.wait_for("the shared Service is gone",
                              lambda: not self.api.ok(f"{SERVICES}/half"), SECONDS)
        self.assert_nothing_is_left()

    def test_traffic_is_split_by_a_gateway(self) -> None:
        """The API server checks the HTTPRoute. No Gateway carries it out here."""
        gateway.install(self.cluster)
        self.addCleanup(gateway.uninstall, self.cluster)
        self.serve_versions("v1", "v2")
        for name in ("web", "other"):
            self.api.json("POST", GATEWAYS, {
                "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
                "metadata": {"name": name}, "spec": {"gatewayClassName": "none", "listeners": [
                    {"name": "http", "port": 80, "protocol": "HTTP"}]}})
        weights = ("-v", "v1:30", "-v", "v2:70")
        self.refused(NOT_FOUND, "--gateway: there is no Gateway none", "serve", "traffic-split",
                     "--name=half", "--gateway=none", *weights)
        self.assertEqual(
            self.split("--gateway=web", *weights),
            "httproute.gateway.networking.k8s.io/half created\nCallers send HTTP requests with the "
            "host half.default to the Gateway web of namespace default\n")
        route = self.route()
        self.assertEqual(self.weights(route), {"v1": 30, "v2": 70})
        self.assertEqual((route["spec"]["hostnames"], route["spec"]["parentRefs"][0]["name"]),
                         (["half.default"], "web"))
        self.assertEqual(len(route["metadata"]["ownerReferences"]), 2)
        self.assertEqual(self.addresses(), ["(30%)", "(70%)"])
        self.assertRegex(self.serve("get", "half", "--version=v1"),
                         r"(?m)^Traffic: +30% of httproute/half \(half\.default\); no Gateway has "
                         "accepted it yet$")
        self.assert_a_change_keeps_what_others_wrote()
        self.assert_two_commands_at_once()
        # The route outlives a version, which is deleted after its traffic has gone elsewhere.
        self.split(*weights)
        self.refused(CONFLICT, "version v1 of half gets 30% of the traffic of httproute/half, which "
                     "would fail; first send it elsewhere", "serve", "delete", "half", "-v", "v1")
        self.split("-v", "v2")
        self.serve("delete", "half", "-v", "v1")
        self.cluster.wait_for("v1 is gone", lambda: not self.api.ok(
            f"{SERVICES}/half-v1-tensorflow-serving"), SECONDS)
        self.assertEqual(self.weights(self.route()), {"v2": 100})
        self.assertEqual(self.route()["metadata"]["uid"], route["metadata"]["uid"])
        self.serve("delete", "half")
        self.cluster.wait_for("the route is gone", lambda: not self.api.ok(f"{ROUTES}/half"),
                              SECONDS)
        self.assert_nothing_is_left()

    def route(self) -> Json:
        found: Json = self.api.json("GET", f"{ROUTES}/half")
        return found

    def weights(self, route: Json) -> dict[str, int]:
        """By version."""
        [rule] = route["spec"]["rules"]
        self.assertEqual({backend["port"] for backend in rule["backendRefs"]}, {8501})
        return {backend["name"].split("-")[1]: backend["weight"] for backend in rule["backendRefs"]}

    def assert_a_change_keeps_what_others_wrote(self) -> None:
        """A timeout of the rule. Also, what a Gateway says of the route is shown."""
        self.cluster.kubectl("patch", "httproute", "half", "--type=json", "-p", json.dumps(
            [{"op": "add", "path": "/spec/rules/0/timeouts", "value": {"request": "10s"}}]))
        self.cluster.kubectl("patch", "httproute", "half", "--subresource=status", "--type=merge",
                             "-p", json.dumps({"status": {"parents": [{
                                 "parentRef": {"name": "web"}, "controllerName": "example.com/test",
                                 "conditions": [{
                                     "type": "Accepted", "status": "False", "message": "no",
                                     "reason": "NotAllowedByListeners",
                                     "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]}}))
        self.assertIn("httproute/half updated", self.split("-v", "v1:40", "-v", "v2:60").replace(
            ".gateway.networking.k8s.io", ""))
        self.assertEqual(self.weights(self.route()), {"v1": 40, "v2": 60})
        self.assertEqual(self.route()["spec"]["rules"][0]["timeouts"], {"request": "10s"})
        self.assertIn("; NotAllowedByListeners: no\n", self.serve("get", "half", "--version=v2"))

    def assert_two_commands_at_once(self) -> None:
        """Each does all of its split or says that it did nothing."""
        for round_ in range(5):
            splits = [{"v1": 10 + round_, "v2": 90 - round_}, {"v1": 60 + round_, "v2": 40 - round_}]
            commands = [[str(builds.program("tessera")), "serve", "traffic-split", "--name=half",
                         *(f"--version-weight={name}:{weight}" for name, weight in split.items())]
                        for split in splits]
            started = [subprocess.Popen(command, env=self.environment(), text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                       for command in commands]
            said = [process.communicate(timeout=60) for process in started]
            done = [process.returncode == 0 for process in started]
            self.assertTrue(any(done), said)
            for process, (_, errors) in zip(started, said, strict=True):
                self.assertIn(process.returncode, (0, CONFLICT), errors)
            self.assertIn(self.weights(self.route()),
                          [split for split, won in zip(splits, done, strict=True) if won])
