"""What the tests of training jobs share."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from e2e.case import PODS
from e2e.chart_case import OneNodeCase

Json = dict[str, Any]
SECONDS = 120  # for what takes seconds on a machine with nothing else to do
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SERVICES = "/api/v1/namespaces/default/services"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class TrainingCase(OneNodeCase):
    # The kinds of objects that a job may have, besides those of the namespace itself.
    objects: ClassVar[tuple[str, ...]] = (JOBS, PODS, SERVICES, CONFIG_MAPS)

    def tearDown(self) -> None:
        self.cluster.kubectl("delete", "jobs", "--all", "--wait=true")
        super().tearDown()

    def get(self, name: str) -> Json:
        found: Json = json.loads(self.tessera_says("get", name, "-o", "json"))
        return found

    def becomes(self, name: str, status: str) -> Json:
        """Waits for a status of the job, and returns the job."""
        def found() -> Json | None:
            job = self.get(name)
            self.assertIn(job["status"], {status, "PENDING", "RUNNING"}, job.get("reason"))
            return job if job["status"] == status else None
        job: Json = self.cluster.wait_for(f"{name} is {status}", found, SECONDS)
        return job

    def assert_nothing_is_left(self) -> None:
        def is_gone() -> bool:
            left = [item["metadata"]["name"] for path in self.objects
                    for item in self.api.json("GET", path)["items"]]
            return left == ["kubernetes", "kube-root-ca.crt"]
        self.cluster.wait_for("nothing of a job is left", is_gone, SECONDS)
