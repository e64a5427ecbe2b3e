"""What only the way by NRI can do: refuse an image's environment, and stop what slipped through."""

from __future__ import annotations

import subprocess
from pathlib import Path

from e2e import pods
from e2e.case import StackCase
from stack import builds

TWICE = "localhost/twice:dev"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"


class OnlyNri(StackCase):
    """Runs on case.two_nodes."""

    def test_an_image_that_names_the_variable_twice_is_refused(self) -> None:
        """Kubelet merges a pod's own repetition, so only an image's reaches the runtime. The
        runtime would replace the first entry, and the container would read the second."""
        self.cluster.import_image(self._image_with_variable_twice())
        made = pods.simple("twice", pods.aliyun(1), node="node-a")
        made["spec"]["containers"][0]["image"] = TWICE
        self.create(made)
        self.wait_event("twice", f"sets {VISIBLE} 2 times", "remove it")
        pod = self.pod("twice")
        self.assertFalse(pod["status"]["containerStatuses"][0]["started"])

    def _image_with_variable_twice(self) -> Path:
        out = self.cluster.directory / "twice.tar"
        gpuhog = f"{builds.program('gpuhog')}=/usr/bin/gpuhog"
        done = subprocess.run(
            [str(builds.IMAGE_TOOL), TWICE, str(out), "--program", gpuhog, "--busybox",
             "--without", "libcuda.so.1", "--env", f"{VISIBLE}=all", "--env", f"{VISIBLE}=all"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out
