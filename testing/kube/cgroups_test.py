"""Tests of cgroups.py on ordinary directories."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from kube import cgroups
from kube.errors import KubeError

V1_MOUNTINFO = """31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
38 31 0:35 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
V2_MOUNTINFO = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"


class CgroupsTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)

    def test_v1_with_a_v2_mount_beside_it_is_v1(self) -> None:
        found = cgroups.parse(V1_MOUNTINFO)
        self.assertEqual((found.version, len(found.hierarchies)), (1, 5))
        self.assertEqual(found.join_files("x/y"), [Path("/sys/fs/cgroup/pids/x/y/cgroup.procs")])

    def test_v2(self) -> None:
        found = cgroups.parse(V2_MOUNTINFO)
        self.assertEqual(found.version, 2)
        self.assertEqual(found.join_files("x"), [Path("/sys/fs/cgroup/x/cgroup.procs")])

    def test_none_is_an_error_that_says_so(self) -> None:
        with self.assertRaisesRegex(KubeError, "no cgroup file system"):
            cgroups.parse("22 27 0:21 / /proc rw - proc proc rw\n")

    def test_v1_creates_in_every_v1_hierarchy_and_removes_in_all(self) -> None:
        groups = cgroups.parse(V1_MOUNTINFO.replace("/sys/fs/cgroup", str(self.directory)))
        for hierarchy in groups.hierarchies:
            hierarchy.root.mkdir()
        cpuset = self.directory / "cpuset"
        (cpuset / "cpuset.cpus").write_text("0-1")
        (cpuset / "cpuset.mems").write_text("0")
        for path in (cpuset / "run", cpuset / "run" / "node"):
            path.mkdir()
            for file in ("cpuset.cpus", "cpuset.mems"):
                (path / file).write_text("\n")
        groups.create("run/node")
        self.assertEqual((cpuset / "run" / "node" / "cpuset.cpus").read_text(), "0-1")
        self.assertTrue((self.directory / "systemd" / "run" / "node").is_dir())
        self.assertFalse((self.directory / "unified" / "run").exists())

    def test_remove_takes_the_tree_and_nothing_beside_it(self) -> None:
        groups = cgroups.Cgroups(2, (cgroups.Hierarchy(self.directory, frozenset()),))
        for path in ("run/a/b", "run-2"):
            (self.directory / path).mkdir(parents=True)
        groups.remove("run")
        self.assertEqual([p.name for p in self.directory.iterdir()], ["run-2"])


if __name__ == "__main__":
    unittest.main()
