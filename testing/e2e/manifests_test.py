"""Settings that two manifests share are the same in both."""

from __future__ import annotations

import unittest

from stack import deploy

WAYS = ("urlPrefix:", "enableHTTPS:", "tlsConfig:", "serverName:", "caFile:", "certFile:", "keyFile:")


def settings(name: str) -> list[str]:
    """The lines of a configuration, without comments and the connection to the extender."""
    lines = (deploy.DEPLOY / name).read_text().splitlines()
    return [line for line in lines
            if not line.strip().startswith(("#", *WAYS)) and "- urlPrefix" not in line]


CHART = "chart/tessera/templates/scheduler-config.yaml"


def extender(name: str) -> list[str]:
    """The lines of the extender's settings, without indentation."""
    found = [line.strip() for line in settings(name)]
    return [line for line in found[found.index("extenders:"):] if not line.startswith("{{")]


class ManifestsTest(unittest.TestCase):
    def test_the_charts_kube_scheduler_has_the_same_extender(self) -> None:
        self.assertEqual(extender(CHART), extender("scheduler/config.yaml"))

    def test_kube_schedulers_differ_in_the_way_to_the_extender_alone(self) -> None:
        self.assertEqual(settings("scheduler/config.yaml"), settings("ha/scheduler.yaml"))

    def test_the_replicas_have_the_arguments_of_the_one(self) -> None:
        """Only the arguments about the address and TLS differ."""
        def arguments(name: str) -> set[str]:
            text = (deploy.DEPLOY / name).read_text().partition("args: [")[2].partition("]")[0]
            return {word for word in text.replace(",", " ").split()
                    if not word.startswith(("--listen", "--open-reads", "--tls", "--client-ca"))}
        self.assertEqual(arguments("base/controller.yaml"), arguments("ha/controller.yaml"))

    def test_every_object_has_the_recommended_labels(self) -> None:
        """Selectors, and the tools that find Tessera's pods, use these labels and no others."""
        for path in sorted(deploy.DEPLOY.rglob("*.yaml")):
            for line in path.read_text().splitlines():
                if "abels: {" in line and "tessera" in line:
                    self.assertIn("app.kubernetes.io/name: tessera", line, path)
                    self.assertRegex(line, "app.kubernetes.io/component: (agent|controller)", path)
