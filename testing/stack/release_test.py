"""tools/release: versions, the packed chart, and which release is pushed."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import yaml

from stack import builds, release

TOOL = release.module()


class SbomTest(unittest.TestCase):
    def test_document(self) -> None:
        """Each artifact contains its packages, and every reference leads to something."""
        sbom = TOOL.sbom
        packages = sbom.of_names(["libc6", "libstdc++6"])
        self.assertEqual([package.name for package in packages], ["libc6", "libstdc++6"])
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder) / "a.oci.tar", Path(folder) / "b+c"
            first.write_bytes(b"first")
            second.write_bytes(b"second")
            arm = sbom.Package("libc6", packages[0].version, "arm64")
            contents = {first: [*packages, arm], second: packages[:1]}
            text = sbom.document("1.2.3", "2026-01-01T00:00:00Z", contents)
            self.assertEqual(text, sbom.document("1.2.3", "2026-01-01T00:00:00Z", contents))
        made = json.loads(text)
        ids = {item["SPDXID"] for item in made["packages"]} | {made["SPDXID"]}
        self.assertEqual(len(ids), 6)
        for name in ids:
            self.assertRegex(name, r"^SPDXRef-[A-Za-z0-9.-]+$")
        used = [(item["spdxElementId"], item["relatedSpdxElement"]) for item in made["relationships"]]
        self.assertEqual(len(used), 6)
        self.assertLessEqual({name for pair in used for name in pair}, ids)

    def test_packages_of_an_image(self) -> None:
        """A library of the machine is found by its path without /usr; our own program is not."""
        libc = next(Path("/lib").glob("*-linux-gnu/libc.so.6"))
        with tempfile.TemporaryDirectory() as folder:
            layer = io.BytesIO()
            with tarfile.open(fileobj=layer, mode="w") as archive:
                for name in (str(libc).lstrip("/"), "usr/bin/tessera-none"):
                    archive.addfile(tarfile.TarInfo(name))
            image = Path(folder) / "image.tar"
            with tarfile.open(image, "w") as archive:
                for name, data in (("blobs/sha256/a", layer.getvalue()), ("blobs/sha256/b", b"{}")):
                    info = tarfile.TarInfo(name)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
            self.assertEqual([package.name for package in TOOL.sbom.of_image(image)], ["libc6"])
            (Path(folder) / "packages.tsv").write_text(f"{libc}\tforeign\t1\tarm64\n")
            others = TOOL.sbom.of_sysroot(Path(folder))
            self.assertEqual(TOOL.sbom.of_image(image, others),
                             [TOOL.sbom.Package("foreign", "1", "arm64")])


class OciTest(unittest.TestCase):
    def test_an_image_for_two_processors(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            archives = {}
            for architecture, options in (("amd64", ()), ("arm64", (
                    "--architecture", "arm64", "--sysroot", folder))):
                archives[architecture] = Path(folder) / f"{architecture}.tar"
                subprocess.run([str(builds.IMAGE_TOOL), "made:1", str(archives[architecture]),
                                "--format", "oci", "--file", f"{__file__}=/a", *options], check=True)
            both = Path(folder) / "both.tar"
            both.write_bytes(TOOL.oci.joined(archives, "made:1"))
            self.assertEqual(both.read_bytes(), TOOL.oci.joined(archives, "made:1"))
            for architecture, archive in archives.items():
                shown = subprocess.run(
                    ["skopeo", "--insecure-policy", "--override-arch", architecture, "inspect",
                     f"oci-archive:{both}"], check=True, capture_output=True, text=True).stdout
                self.assertEqual(json.loads(shown)["Architecture"], architecture)
            self.assertNotIn(TOOL.oci.digest(both), {TOOL.oci.digest(one) for one in archives.values()})
            refused = subprocess.run([str(builds.IMAGE_TOOL), "made:1", str(both), "--architecture",
                                      "arm64"], capture_output=True, text=True)
        self.assertIn("--sysroot and another --architecture than amd64 go together", refused.stderr)


class ReleaseTest(unittest.TestCase):
    def test_versions(self) -> None:
        for good in ("0.1.0", "10.20.30", "1.0.0-rc.1"):
            self.assertEqual(TOOL.directory_of(good).name, f"release-{good}")
        for bad in ("", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0+5", "1.0.0-", "../1.0.0", "1.0.0\n"):
            with self.assertRaisesRegex(TOOL.ReleaseError, "is no version: write MAJOR.MINOR.PATCH"):
                TOOL.directory_of(bad)

    def test_the_chart_has_the_version_and_the_same_bytes(self) -> None:
        packed = TOOL.chart("7.8.9")
        self.assertEqual(packed, TOOL.chart("7.8.9"))
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            names = archive.getnames()
            member = archive.extractfile("tessera/Chart.yaml")
            assert member is not None
            chart = yaml.safe_load(member.read())
            self.assertEqual({info.mtime for info in archive.getmembers()}, {0})
        self.assertEqual((chart["version"], chart["appVersion"], chart["apiVersion"]),
                         ("7.8.9", "7.8.9", "v2"))
        for needed in ("values.yaml", "values.schema.json", "templates/agent.yaml", "templates/NOTES.txt"):
            self.assertIn(f"tessera/{needed}", names)

    def test_the_chart_has_the_rules_and_the_dashboard(self) -> None:
        with tarfile.open(fileobj=io.BytesIO(TOOL.chart("7.8.9"))) as archive:
            self.assertLessEqual({"tessera/files/rules.yaml", "tessera/files/dashboard.json"},
                                 set(archive.getnames()))

    def test_digests_are_values_of_the_chart(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for number, name in enumerate(TOOL.IMAGES):
                index = json.dumps({"manifests": [{"digest": f"sha256:{number}"}]}).encode()
                with tarfile.open(Path(folder) / f"{name}-7.8.9.oci.tar", "w") as archive:
                    info = tarfile.TarInfo("index.json")
                    info.size = len(index)
                    archive.addfile(info, io.BytesIO(index))
            values = yaml.safe_load(TOOL.digest_values(Path(folder), "7.8.9"))
        self.assertEqual(values, {"image": {"digests": {"controller": "sha256:0",
                                                        "agent": "sha256:1"}}})

    def test_krew_manifest(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "kubectl-tessera-7.8.9-linux-amd64.tar.gz"
            other = Path(folder) / "kubectl-tessera-7.8.9-linux-arm64.tar.gz"
            other.write_bytes(b"other")
            archive.write_bytes(TOOL.packed({"b": (b"x", 0o755), "a": (b"", 0o644)}))
            self.assertEqual(archive.read_bytes(),
                             TOOL.packed({"a": (b"", 0o644), "b": (b"x", 0o755)}))
            with tarfile.open(archive) as opened:
                self.assertEqual([(each.name, each.mode) for each in opened],
                                 [("a", 0o644), ("b", 0o755)])
            made = yaml.safe_load(TOOL.krew_manifest(
                "7.8.9", {"amd64": archive, "arm64": other},
                TOOL.download_url(["https://example.org/v7.8.9/"])))
            platform, arm = made["spec"]["platforms"]
            self.assertEqual(arm["selector"]["matchLabels"], {"os": "linux", "arch": "arm64"})
            self.assertNotEqual(arm["sha256"], platform["sha256"])
            self.assertEqual(platform["uri"], f"https://example.org/v7.8.9/{archive.name}")
            self.assertEqual(platform["sha256"], hashlib.sha256(archive.read_bytes()).hexdigest())
        self.assertEqual(made["spec"]["version"], "v7.8.9")
        self.assertEqual(TOOL.download_url([]), "")
        for bad in ("http://example.org", "example.org", "https://", "https://a b", "https://a?b"):
            with self.assertRaisesRegex(TOOL.ReleaseError, "is no address: write https://HOST"):
                TOOL.download_url([bad])

    def test_push_without_a_version_needs_exactly_one_release(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(TOOL, "ROOT", Path(folder)):
            with self.assertRaisesRegex(TOOL.ReleaseError, "run ./dev release VERSION first"):
                TOOL.only_version()
            (Path(folder) / "build" / "release-0.1.0").mkdir(parents=True)
            (Path(folder) / "build" / "release-0.2.0.partial").mkdir()
            self.assertEqual(TOOL.only_version(), "0.1.0")
            (Path(folder) / "build" / "release-0.2.0").mkdir()
            with self.assertRaisesRegex(TOOL.ReleaseError, "0.1.0, 0.2.0; name one"):
                TOOL.only_version()

    def test_usage(self) -> None:
        tool = str(builds.ROOT / "tools" / "release")
        for line, status in (("--help", 0), ("", 2), ("--what", 2), ("a b c", 2)):
            done = subprocess.run([tool, *line.split()], text=True, capture_output=True)
            self.assertEqual(done.returncode, status, line)
            self.assertIn("usage: release VERSION", done.stdout)
