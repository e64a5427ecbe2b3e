"""Each page of docs/install says what was tested, and the chart has each value that documents
name."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from reference import install_pages
from stack.builds import ROOT

SCHEMA = install_pages.schema()


def pages() -> list[Path]:
    """The pages of docs/install, without the index."""
    return sorted(path for path in install_pages.INSTALL.glob("*.md")
                  if path != install_pages.INDEX)


class StatusTest(unittest.TestCase):
    def test_each_page_begins_with_its_status_and_a_date(self) -> None:
        silent = [path.name for path in pages()
                  if not install_pages.status_of(path.read_text(encoding="utf-8"))]
        self.assertEqual(silent, [], "begin them with: **Tested** (2026-11-27): WITH WHAT")

    def test_the_index_lists_each_page_with_its_status(self) -> None:
        statuses = {path.name: install_pages.status_of(path.read_text(encoding="utf-8")).lower()
                    for path in pages()}
        self.assertGreater(len(statuses), 10)
        self.assertEqual(install_pages.index_rows(
            install_pages.INDEX.read_text(encoding="utf-8")), statuses)

    def test_what_is_a_status(self) -> None:
        for page, status in (
                ("# Title\n\n**Tested** (2026-11-27): on Kubernetes 1.36.\n", "Tested"),
                ("# Title\n\n**Untested** (2026-11-27): not tried.\n", "Untested"),
                ("# Title\n\nText.\n\n**Tested** (2026-11-27): too late.\n", ""),
                ("# Title\n\n**Tested** (2026-13-27): no such date.\n", ""),
                ("# Title\n\n**Tested**: no date.\n", ""),
                ("# Title\n\n**Tested** (2026-11-27):\n", "")):
            with self.subTest(page):
                self.assertEqual(install_pages.status_of(page), status)


class ValuesTest(unittest.TestCase):
    def test_the_chart_has_each_value_that_a_document_names(self) -> None:
        texts = {path.relative_to(install_pages.ROOT): path.read_text(encoding="utf-8")
                 for path in install_pages.documents()}
        found = [f"{path}: {fault}" for path, text in texts.items()
                 for fault in install_pages.value_faults(text, SCHEMA)]
        self.assertEqual(found, [])
        read = [text for path, text in texts.items() if path.parts[:2] == ("docs", "install")]
        self.assertGreater(sum(install_pages.count_of_values(text, SCHEMA) for text in read), 20)

    def test_finds_each_planted_fault(self) -> None:
        for text, fault in (
                ("`--set agent.roots=/`", "the chart has no value agent.roots"),
                ("    helm install tessera X \\\n      --set mode=none --set nonsense=1",
                 "mode: 'none' is none of scheduler, extender"),
                ("    helm install tessera X \\\n      --set nonsense=1",
                 "the chart has no value nonsense"),
                ("--set guard.enabled=true,guard.fodler=/x", "the chart has no value guard.fodler"),
                ("--set agent.slotsPerGpu=many", "agent.slotsPerGpu: 'many' is no integer"),
                ("--set agent.slotsPerGpu=0", "agent.slotsPerGpu: 0 is too small or too large"),
                ("--set 'agent.nodeLabels.nvidia\\.com/gpu\\.present=true'",
                 "agent.nodeLabels.nvidia.com/gpu.present: True is no string"),
                ("--set scheduler.name=default-scheduler",
                 "scheduler.name: 'default-scheduler' is not allowed"),
                ("--set guard.folder=relative", "guard.folder: 'relative' does not match ^/."),
                ("--set image.pullSecrets[0]=1", "image.pullSecrets[]: 1 is no string"),
                ("with `mode=extenders`", "mode: 'extenders' is none of scheduler, extender"),
                ("`allocationKey.secretName=`", "allocationKey.secretName: '' is too short"),
                ("set `agent.driver.rot`", "the chart has no value agent.driver.rot"),
                ("| `agent.driver.rot=/x` |", "the chart has no value agent.driver.rot"),
                ("```yaml\n# values.yaml\nagent: {kubelet: /x}\n```",
                 "the chart has no value agent.kubelet"),
                ("```yaml\n# values.yaml\nagent: {nodeConfigs: {a: {slots: 1}}}\n```",
                 "the chart has no value agent.nodeConfigs.a.slots"),
                ("```yaml\n# values.yaml\nagent: {nodeConfigs: {a: {excludedGpus: [1, 1]}}}\n```",
                 "agent.nodeConfigs.a.excludedGpus: [1, 1] has an entry twice"),
                ("```yaml\n# values.yaml\nagent: {nodeConfigs: {a: {excludedGpus: [x]}}}\n```",
                 "agent.nodeConfigs.a.excludedGpus[]: 'x' fits no alternative"),
                ("```yaml\n# values.yaml\ndialects: []\n```", "dialects: [] is too short"),
                ("```yaml\n# values.yaml\ndialects: [hami]\n```",
                 "dialects[]: 'hami' is none of native, gpushare, gpu-manager"),
                ("1. Save:\n\n   ```yaml\n   # values-gke.yaml\n   agent: {listen: 1}\n   ```\n",
                 "agent.listen: 1 is no boolean")):
            with self.subTest(text):
                self.assertIn(fault, install_pages.value_faults(text, SCHEMA))

    def test_accepts_what_the_chart_accepts(self) -> None:
        for text in (
                "`--set mode=extender`, `agent.driver.runtimeClassName=`, `agent.nodeLabels`",
                "--set-string 'agent.nodeLabels.nvidia\\.com/gpu\\.present=true'",
                "--set image.pullSecrets[0]=my-secret --set image.registry=REGISTRY",
                "    helm install gpu-operator nvidia/gpu-operator --set driver.enabled=false",
                "`deploy/monitoring/scrape.yaml`, `agent.def`, `driver.enabled=false` is the Operator's",
                "`mode`, `mode=scheduler`, `image` and `agent`",
                "`--set NAME=VALUE`, `scheduler.framework.gpushare.allocation`",
                "```yaml\nagent: {kubelet: /x}\n```",
                "```yaml\n# values.yaml\nagent: {nodeConfigs: {a: {excludedGpus: [0, GPU-1]}}}\n```",
                "```yaml\n# values.yaml\nagent:\n  extraArgs: [--environment-handlers=default]\n```"):
            with self.subTest(text):
                self.assertEqual(install_pages.value_faults(text, SCHEMA), [])

    def test_each_block_of_yaml_can_be_read(self) -> None:
        for path in (*pages(), install_pages.INDEX):
            with self.subTest(path.name):
                self.assertEqual(install_pages.yaml_faults(path.read_text(encoding="utf-8")), [])
        self.assertEqual(install_pages.yaml_faults("```yaml\na: {b: 1}\n```\n```\n{a\n```"), [])
        self.assertIn("expected ',' or '}'", install_pages.yaml_faults("```yaml\na: {b: 1\n```")[0])

    def test_the_page_names_what_doctor_knows_of_other_products(self) -> None:
        page = (install_pages.INDEX.parent / "beside-others.md").read_text(encoding="utf-8")
        page = page.partition("## Conflicts that tessera doctor finds")[2].partition("\n## ")[0]
        for table, column, form in (("request/foreign_resources.def", 0, "`{}"),
                                    ("doctor/foreign_schedulers.def", 1, "{}"),
                                    ("doctor/foreign_labels.def", 0, "`{}")):
            text = (ROOT / "src" / "domain" / table).read_text(encoding="utf-8")
            rows = re.findall(r'^FOREIGN_\w+\((.*)\)$', text, re.M)
            self.assertGreater(len(rows), 1, table)
            for row in rows:
                name = re.findall(r'"([^"]*)"', row)[column]
                self.assertIn(form.format(name), page, table)

    def test_a_schema_with_unknown_words_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "does not know oneOf"):
            list(install_pages.faults("x", {"oneOf": []}))


if __name__ == "__main__":
    unittest.main()
