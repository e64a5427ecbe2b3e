"""What stands in two manifests is the same in both."""

from __future__ import annotations

import unittest

from stack import deploy

WAYS = ("urlPrefix:", "enableHTTPS:", "tlsConfig:", "serverName:", "caFile:", "certFile:", "keyFile:")


def settings(name: str) -> list[str]:
    """The lines of a configuration that say something, but for the way to the extender."""
    lines = (deploy.DEPLOY / name).read_text().splitlines()
    return [line for line in lines
            if not line.strip().startswith(("#", *WAYS)) and "- urlPrefix" not in line]


class ManifestsTest(unittest.TestCase):
    def test_kube_schedulers_differ_in_the_way_to_the_extender_alone(self) -> None:
        self.assertEqual(settings("scheduler/config.yaml"), settings("ha/scheduler.yaml"))

    def test_the_replicas_have_the_arguments_of_the_one(self) -> None:
        """But for where it listens, and how."""
        def arguments(name: str) -> set[str]:
            text = (deploy.DEPLOY / name).read_text().partition("args: [")[2].partition("]")[0]
            return {word for word in text.replace(",", " ").split()
                    if not word.startswith(("--listen", "--open-reads", "--tls", "--client-ca"))}
        self.assertEqual(arguments("base/controller.yaml"), arguments("ha/controller.yaml"))
