"""The files of the virtual machine, without starting it."""

from __future__ import annotations

import json
import re
import tarfile
import tempfile
import unittest
from pathlib import Path

from kube import containerd
from vm import guest, seed


class GuestTest(unittest.TestCase):
    def test_units_have_one_command_each_and_start(self) -> None:
        for name, text in guest.services().items():
            command, = re.findall(r"(?m)^ExecStart=(\S+)", text)
            self.assertEqual(command, f"{guest.PROGRAMS}/{name}")
            self.assertIn("\nRestart=always\n", text)
            self.assertIn(f"/etc/systemd/system/multi-user.target.wants/{name}.service",
                          guest.links())
            self.assertIn("seed.service", text)

    def test_systemd_creates_the_cgroups(self) -> None:
        self.assertIn("SystemdCgroup = true", containerd.config("", nri=True, systemd=True))
        self.assertIn("SystemdCgroup = false", containerd.config("", nri=True))

    def test_each_device_gets_the_node_of_its_gpu(self) -> None:
        """GPUs by UUID and by index, and `all`."""
        def device(name: str, *minors: int) -> dict[str, object]:
            return {"name": name, "containerEdits": {"mounts": [
                {"containerPath": f"/lib/gpusim/dev/nvidia{minor}"} for minor in minors]}}
        cdi = {"containerEdits": {"mounts": []},
               "devices": [device("GPU-1", 3), device("0", 3), device("all", 3, 1)]}
        made = json.loads(seed.with_device_nodes(json.dumps(cdi)))
        self.assertEqual([edits["containerEdits"]["deviceNodes"] for edits in made["devices"]],
                         [[{"path": "/dev/nvidia3"}], [{"path": "/dev/nvidia3"}],
                          [{"path": "/dev/nvidia3"}, {"path": "/dev/nvidia1"}]])

    def test_the_seed_has_files_and_devices(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "seed.tar")
            with seed.Archive(path) as archive:
                archive.text("/etc/one", "text")
                archive.device("/dev/nvidia3", 10, 229)
            self.assertEqual(path.stat().st_size % 512, 0, "a disk has whole sectors")
            with tarfile.open(path) as made:
                one, device = made.getmembers()
        self.assertEqual((one.name, one.mode, one.size), ("etc/one", 0o600, 4))
        self.assertEqual((device.name, device.type, device.devmajor, device.devminor),
                         ("dev/nvidia3", tarfile.CHRTYPE, 10, 229))


if __name__ == "__main__":
    unittest.main()
