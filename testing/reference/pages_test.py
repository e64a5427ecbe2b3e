"""The pages of docs/reference are those that the tables give."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from reference import pages, rbac, values

SOURCES = pages.ROOT / "src"
# In these files every constant is a key.
DIALECTS_OF_OTHERS = ("src/domain/dialect/gpushare.hpp", "src/domain/dialect/gpu_manager.hpp")
CONSTANT = re.compile(r'\bconstexpr std::string_view k\w+\s*=\s*"([^"]+)"')
# A key of Kubernetes (a domain, a slash and a name) that Tessera owns, or that a label of a pod or
# Node has. Prefixes ("tessera.dev/") and kinds of CDI devices ("tessera.dev/share=") are none.
OURS = re.compile(r"tessera\.dev/[\w.-]*\w")
LABEL = re.compile(r"(?:pod-group\.scheduling\.sigs\.k8s\.io|nvidia\.com/gpu-driver)[\w./-]*\w")
KEYS_OF_OTHERS = ("aliyun.com/", "ALIYUN_COM_", "scheduler.framework.gpushare.", "tencent.com/")


def constants(text: str, is_of_others: bool = False) -> set[str]:
    """The keys among the constants of a source."""
    return {key for key in CONSTANT.findall(text)
            if OURS.fullmatch(key) or LABEL.fullmatch(key)
            or is_of_others and key.startswith(KEYS_OF_OTHERS)}


def keys_of_sources() -> dict[str, str]:
    """Each key, and a file that has it."""
    found: dict[str, str] = {}
    for path in sorted((*SOURCES.rglob("*.hpp"), *SOURCES.rglob("*.cpp"))):
        if is_test(path):
            continue
        name = path.relative_to(pages.ROOT).as_posix()
        for key in constants(path.read_text(encoding="utf-8"), name in DIALECTS_OF_OTHERS):
            found.setdefault(key, name)
    return found


def is_test(path: Path) -> bool:
    """Tests and fuzz targets may have keys that no program knows."""
    return re.search(r"_(test|fuzz|bench)\.(cpp|hpp)$", path.name) is not None


class PagesTest(unittest.TestCase):
    def test_the_pages_are_made_from_the_tables(self) -> None:
        for name, make in pages.PAGES.items():
            with self.subTest(name):
                self.assertEqual((pages.FOLDER / name).read_text(encoding="utf-8"), make(),
                                 "run: cd testing; python3 -m reference.pages")

    def test_the_folder_has_no_other_page(self) -> None:
        self.assertEqual({path.name for path in pages.FOLDER.iterdir()}, set(pages.PAGES))

    def test_a_line_that_is_no_row_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "events.def:2: not a row"):
            list(pages.rows("src/base/events.def", "CONFIG"))


class KeysTest(unittest.TestCase):
    """src/domain/request/keys.def, which becomes docs/reference/requests.md."""

    def test_each_key_of_the_sources_has_a_row(self) -> None:
        listed = {row.key for row in pages.keys()}
        missing = {key: file for key, file in keys_of_sources().items() if key not in listed}
        self.assertEqual(missing, {}, f"add a row to {pages.KEYS}")

    def test_each_row_is_a_key_of_the_sources(self) -> None:
        listed = {row.key for row in pages.keys()}
        self.assertEqual(listed - set(keys_of_sources()), set(),
                         f"no constant of src has it: remove it from {pages.KEYS}")

    def test_each_row_has_its_place_on_the_page(self) -> None:
        rows = pages.keys()
        places = [(row.object, row.kind, row.key) for row in rows]
        self.assertEqual(len(places), len(set(places)), "a key is listed twice")
        tables = {(of, is_users) for _, of, is_users in pages.KEY_TABLES}
        for row in rows:
            with self.subTest(row.key):
                self.assertIn((row.object, row.is_users()), tables)
                self.assertIn(row.kind, ("resource", "annotation", "label", "taint"))
                self.assertTrue(row.help)

    def test_which_constants_are_keys(self) -> None:
        text = ('inline constexpr std::string_view kGpus = "tessera.dev/gpus";  // Node\n'
                'inline constexpr std::string_view kAllocation =\n    "tessera.dev/allocation";\n'
                'constexpr std::string_view kGang = "pod-group.scheduling.sigs.k8s.io/name";\n'
                'constexpr std::string_view kOurs = "tessera.dev/";\n'
                'constexpr std::string_view kKind = "tessera.dev/share=";\n'
                'constexpr std::string_view kMem = "aliyun.com/gpu-mem";\n'
                'constexpr std::string_view kCore = "tencent.com/vcuda-core";\n')
        ours = {"tessera.dev/gpus", "tessera.dev/allocation", "pod-group.scheduling.sigs.k8s.io/name"}
        self.assertEqual(constants(text), ours)
        self.assertEqual(constants(text, is_of_others=True),
                         ours | {"aliyun.com/gpu-mem", "tencent.com/vcuda-core"})


if __name__ == "__main__":
    unittest.main()


class ChartTest(unittest.TestCase):
    """The Helm chart, which becomes docs/reference/values.md and rbac.md."""

    def test_the_schema_has_each_value_and_no_other(self) -> None:
        self.assertEqual(values.names(), values.schema_names())

    def test_each_value_has_a_comment(self) -> None:
        silent = [value.name for value in values.values() if not value.meaning]
        self.assertEqual(silent, [], "add a comment in values.yaml")

    def test_each_rule_of_the_templates_has_a_purpose_and_a_row(self) -> None:
        texts = [path.read_text() for path in rbac.TEMPLATES.glob("*.yaml")]
        count = sum(len(re.findall(r"^  - (?:apiGroups|nonResourceURLs):", text, re.M))
                    for text in texts if re.search("^kind: (Cluster)?Role$", text, re.M))
        self.assertEqual(len(rbac.rules()), count)

    def test_a_rule_without_a_purpose_is_refused(self) -> None:
        for text, fault in (
                ("kind: Role\nmetadata:\n  name: r\nrules:\n  - apiGroups: [\"\"]\n",
                 "must say what it is for"),
                ("kind: Role\nmetadata:\n  name: r\nrules:\n  {{- if .Values.x }}\n  # Why.\n"
                 "  - apiGroups: [\"\"]\n", "does not explain .Values.x")):
            with tempfile.TemporaryDirectory() as folder, \
                    mock.patch.object(rbac, "TEMPLATES", Path(folder)):
                (Path(folder) / "x-rbac.yaml").write_text(text)
                with self.assertRaisesRegex(ValueError, fault):
                    rbac.rules()
