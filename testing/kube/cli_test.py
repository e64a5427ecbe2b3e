"""The grammar of --node."""

from __future__ import annotations

import unittest
from pathlib import Path

from kube import cli
from kube.errors import KubeError
from kube.node import NodeSpec


class CliTest(unittest.TestCase):
    def test_node_with_every_option(self) -> None:
        spec = cli.parse_node("n:no-nri:bind=d=/run/d:file=f=/etc/cdi/f:label=a/b=c:max-pods=9")
        self.assertEqual(spec, NodeSpec("n", False, ((Path("d"), "/run/d"),),
                                        {"/etc/cdi/f": Path("f")}, {"a/b": "c"}, 9))

    def test_a_wrong_option_is_named(self) -> None:
        with self.assertRaisesRegex(KubeError, "no such option 'nir'"):
            cli.parse_node("n:nir")


if __name__ == "__main__":
    unittest.main()
