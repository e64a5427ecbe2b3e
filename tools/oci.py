"""OCI image layouts in a tar (github.com/opencontainers/image-spec, image-layout.md and image-index.md), as
deploy/images/build writes them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

Json = dict[str, Any]

INDEX = "application/vnd.oci.image.index.v1+json"


def digest(archive: Path) -> str:
    """The digest by which registries name the image in this archive."""
    manifest, = json.loads(_read(archive)["index.json"])["manifests"]
    return str(manifest["digest"])


def joined(archives: dict[str, Path], name: str) -> bytes:
    """One archive with one image for several processors, made from an archive for each. A runtime takes
    the part for its own processor."""
    blobs: dict[str, bytes] = {}
    parts = []
    for architecture, archive in archives.items():
        files = _read(archive)
        part, = json.loads(files["index.json"])["manifests"]
        blobs |= {path: data for path, data in files.items() if path.startswith("blobs/")}
        parts.append({**{key: part[key] for key in ("mediaType", "digest", "size")},
                      "platform": {"architecture": architecture, "os": "linux"}})
    index = _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": parts})
    found = hashlib.sha256(index).hexdigest()
    blobs[f"blobs/sha256/{found}"] = index
    top = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [{
        "mediaType": INDEX, "digest": f"sha256:{found}", "size": len(index),
        "annotations": {"org.opencontainers.image.ref.name": name}}]}
    files = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(top),
             **dict(sorted(blobs.items()))}
    return tar({path: (data, 0o644) for path, data in files.items()})


def tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    """A tar of these files in this order, each with its permissions. It depends on nothing else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, (data, mode) in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), mode
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _read(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as opened:
        return {member.name: file.read() for member in opened.getmembers()
                if (file := opened.extractfile(member)) is not None}


def _json(value: Json) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
