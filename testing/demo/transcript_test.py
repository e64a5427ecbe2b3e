"""The comparison of docs/tour.md with a run, and what can be compared without a run."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from demo import transcript

ROOT = Path(__file__).resolve().parents[2]
PAGE = transcript.of_page((ROOT / "docs" / "tour.md").read_text(encoding="utf-8"))
DEMO = (ROOT / "testing" / "demo" / "demo.py").read_text(encoding="utf-8")


class TranscriptTest(unittest.TestCase):
    """`replaced` is the page with one planted change; every change must be in the page."""

    def replaced(self, old: str, new: str) -> list[str]:
        self.assertIn(old, PAGE)
        return transcript.differences(PAGE, PAGE.replace(old, new, 1))

    def test_finds_each_planted_difference(self) -> None:
        for old, new in (
            ("statefulset.apps/binpack-1 created", "statefulset.apps/binpack-1 configured"),
            ("$ kubectl scale statefulset binpack-1 --replicas=6\n", ""),
            ("# A running pod gets more, if the GPU has it.", "# A running pod gets more."),
            ("REFUSED", "FAILED"),
            ("18/69 (26%)", "15/69 (21%)"),
            ("GPU-40a36dc3", "GPU-40a36dc4"),
            ("1Gi   3Gi    33", "2Gi   3Gi    66"),
            ("CUDA_ERROR_OUT_OF_MEMORY (2)", "CUDA_ERROR_INVALID_VALUE (1)"),
            ("asked 25Gi", "asked 26Gi"),
            ("1/1     Running", "0/1     Pending"),
        ):
            with self.subTest(old=old):
                changed = self.replaced(old, new)
                self.assertTrue(any(line.startswith("-") for line in changed[2:]), changed)

    def test_ignores_what_differs_from_run_to_run(self) -> None:
        for old, new in (
            ("node-a   Ready    <none>   11s ", "node-a   Ready    <none>   1m5s "),
            ("node-b   Ready    <none>   10s ", "node-b   Ready    <none>   2m  "),
            ("tessera-agent-9zhqv ", "tessera-agent-abcde "),
            ("tessera-controller-5fc78b4756-r8rzq ", "tessera-controller-7d9f8b4c5-x2x2x "),
            ("10.128.255.1  ", "10.1.255.10  "),
            ("-------------------------------------------------------\n", "-" * 58 + "\n"),
            ("c2445830-6d50-48bc-aa9e-eb543885b28a", "00000000-1111-2222-3333-444444444444"),
            ("-             73     1\n", "-             100    1\n"),
            ("-             -      0\n", "-             0      0\n"),
            ("Done in 39 s.", "Done in 140 s."),
        ):
            with self.subTest(old=old):
                self.assertEqual(self.replaced(old, new), [])

    def test_ignores_the_order_of_containers(self) -> None:
        lines = PAGE.split("\n")
        first = next(i for i, line in enumerate(lines) if " default/binpack-1-2 " in line)
        lines[first], lines[first + 2] = lines[first + 2], lines[first]
        self.assertEqual(transcript.differences(PAGE, "\n".join(lines)), [])

    def test_ignores_which_pod_is_on_the_second_gpu(self) -> None:
        names = {"3": "4", "4": "3"}
        run = re.sub(r"(default/binpack-1)-([34]) ",
                     lambda name: f"{name[1]}-{names[name[2]]} ", PAGE)
        self.assertNotEqual(run, PAGE)
        self.assertEqual(transcript.differences(PAGE, run), [])

    def test_a_page_has_one_transcript(self) -> None:
        self.assertEqual(transcript.of_page("```yaml\ny\n```\na\n```\n$ x\n```\n"), "$ x\n")
        for page in ("no block\n", "```\na\n```\n```\nb\n```\n"):
            with self.assertRaises(ValueError):
                transcript.of_page(page)

    def test_the_page_has_the_titles_of_the_demo(self) -> None:
        titles = re.findall(r'demo\.say\("(.*)"\)', DEMO)
        self.assertGreater(len(titles), 10)
        self.assertEqual([line[2:] for line in PAGE.split("\n") if line.startswith("# ")], titles)


if __name__ == "__main__":
    unittest.main()
