"""What the tests of serving jobs share."""

from __future__ import annotations

from typing import ClassVar

from e2e import models
from e2e.chart_case import OneNodeCase
from stack import builds


class ServingCase(OneNodeCase):
    """A node with two GPUs, the image of the model server, and the claim `models`."""

    image: ClassVar[str]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        archive = builds.model_server_image(cls.cluster.directory / "model-server")
        cls.image = cls.stack.registry.push(archive, "model-server:test")
        models.make_volume(cls.api, cls.cluster.directory / "models")

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "deployments", "--all", "--wait=true")
        super().tearDown()
