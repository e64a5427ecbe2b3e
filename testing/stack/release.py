"""tools/release, as a module: the artifacts that an administrator installs."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from stack import builds

_LOADER = SourceFileLoader("tessera_release", str(builds.ROOT / "tools" / "release"))
_SPEC = importlib.util.spec_from_loader(_LOADER.name, _LOADER)
assert _SPEC is not None
_RELEASE = importlib.util.module_from_spec(_SPEC)
sys.modules[_LOADER.name] = _RELEASE  # dataclasses look their module up
_LOADER.exec_module(_RELEASE)

VERSION = "0.2.0"


def module() -> ModuleType:
    """The tool itself."""
    return _RELEASE


def write(directory: Path) -> tuple[Path, dict[str, Path]]:
    """Writes a release into the folder. Returns the packed chart, and the images by name."""
    _RELEASE.write(directory, VERSION)
    images = {name: directory / f"{name}-{VERSION}.oci.tar" for name in _RELEASE.IMAGES}
    return directory / f"tessera-{VERSION}.tgz", images
