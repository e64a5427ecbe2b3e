"""The software bill of materials of a release: the Debian packages in its artifacts, in SPDX 2.3.

Source: https://spdx.github.io/spdx-spec/v2.3 and the purl type "deb" (github.com/package-url). The
packages are those of the machine that makes the release, and those of tools/arm64's folder.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

# What tools/static-cli links into the command line.
STATIC = ("libcurl4-openssl-dev", "libfmt-dev", "libsimdjson-dev", "libyaml-cpp-dev", "libssl-dev",
          "libc-ares-dev", "zlib1g-dev", "libc6-dev", "libstdc++-12-dev")


@dataclass(frozen=True, order=True)
class Package:
    """A binary package of Debian."""

    name: str
    version: str
    architecture: str


def of_sysroot(sysroot: Path) -> dict[str, Package]:
    """The package of each file in the folder that tools/arm64 makes, by the file's path there."""
    rows = (line.split("\t") for line in (sysroot / "packages.tsv").read_text().splitlines())
    return {path: Package(*package) for path, *package in rows}


def of_names_in(others: dict[str, Package], names: Iterable[str]) -> list[Package]:
    """The packages of these names among those of of_sysroot. Raises KeyError if one is missing."""
    by_name = {package.name: package for package in others.values()}
    return sorted({by_name[name] for name in names})


def of_names(names: Iterable[str]) -> list[Package]:
    """The installed packages of these names. Raises CalledProcessError if one is missing."""
    shown = _run("dpkg-query", "-W", "-f", "${binary:Package}\t${Version}\t${Architecture}\n", *names)
    return sorted({Package(fields[0].partition(":")[0], fields[1], fields[2])
                   for fields in (line.split("\t") for line in shown.splitlines())})


def of_image(archive: Path, others: dict[str, Package] | None = None) -> list[Package]:
    """The packages whose files are in an OCI archive of deploy/images/build. Its files have the
    paths, or the names, that they have on this machine. others: as of_sysroot returns; for an
    archive that is for both processors."""
    places = set()
    foreign = set()
    for path in _files(archive):
        if others is not None and path in others:
            foreign.add(others[path])
            continue
        for place in (Path(path), Path("/usr") / path.lstrip("/")):
            if place.exists():  # dpkg knows a file by one of its paths
                places |= {path, str(place), str(place.resolve())}
    if not places:
        return sorted(foreign)
    # It prints those that it knows, and fails because of the others.
    owners = subprocess.run(["dpkg-query", "-S", *sorted(places)], capture_output=True, text=True)
    return sorted({*foreign, *of_names(sorted({
        line.partition(": ")[0].partition(",")[0] for line in owners.stdout.splitlines()
        if not line.startswith("diversion by ")}))})


def document(version: str, created: str, contents: dict[Path, list[Package]]) -> str:
    """The SPDX document. created: the time of the commit, in UTC. contents: the packages in each
    artifact."""
    packages = sorted({package for found in contents.values() for package in found})
    artifacts = [_artifact(path, version) for path in contents]
    relations = [_relation("SPDXRef-DOCUMENT", "DESCRIBES", artifact["SPDXID"])
                 for artifact in artifacts]
    relations += [_relation(artifact["SPDXID"], "CONTAINS", _package_id(package))
                  for artifact, found in zip(artifacts, contents.values()) for package in found]
    body: Json = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"tessera-{version}",
        "creationInfo": {"created": created, "creators": ["Tool: tessera-release"]},
        "packages": artifacts + [_package(package) for package in packages],
        "relationships": relations}
    digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()
    body["documentNamespace"] = f"https://tessera.dev/spdx/tessera-{version}-{digest}"
    return json.dumps(body, indent=1, sort_keys=True) + "\n"


def _files(archive: Path) -> list[str]:
    with tarfile.open(archive) as outer:
        names = []
        for member in outer.getmembers():
            blob = outer.extractfile(member)
            if blob is None or not member.name.startswith("blobs/"):
                continue
            try:
                with tarfile.open(fileobj=blob) as layer:
                    names += ["/" + item.name for item in layer.getmembers() if not item.isdir()]
            except tarfile.ReadError:
                pass  # the image's configuration
        return names


def _id(name: str) -> str:
    """Letters, digits, "." and "-" are allowed."""
    return "SPDXRef-" + "".join(c if c.isalnum() or c in ".-" else "-" for c in name)


def _package_id(package: Package) -> str:
    return _id(f"{package.name}-{package.architecture}")


def _artifact(path: Path, version: str) -> Json:
    return {"SPDXID": _id(path.name), "name": path.name, "versionInfo": version,
            "packageFileName": path.name, "filesAnalyzed": False, "downloadLocation": "NOASSERTION",
            "checksums": [{"algorithm": "SHA256",
                           "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}]}


def _package(package: Package) -> Json:
    purl = (f"pkg:deb/debian/{package.name.replace('+', '%2B')}@{package.version.replace('+', '%2B')}"
            f"?arch={package.architecture}")
    return {"SPDXID": _package_id(package), "name": package.name, "versionInfo": package.version,
            "supplier": "Organization: Debian", "filesAnalyzed": False,
            "downloadLocation": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}]}


def _relation(of: str, kind: str, to: str) -> Json:
    return {"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
