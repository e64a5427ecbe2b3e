"""The releases of frameworks that `./dev check frameworks` runs. tools/setup installs them from PyPI,
each with what it needs in a folder of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from kube import binaries

# Folder -> arguments of pip. The client of TensorFlow Serving needs TensorFlow, which is there already. NVIDIA's wheel needs more packages only for its own Python interface. Its
# server was built for NumPy 1: with NumPy 2 arrays have wrong strides.
WHEELS = {"torch": ["torch==2.15.0", "numpy==2.4.6"],
          "tensorflow": ["tensorflow-cpu==2.21.0"],
          "serving": ["--no-deps", "tensorflow-serving-api==2.21.0"],
          "triton": ["--no-deps", "nvidia-pytriton==0.7.0", "numpy==1.26.4"]}


def folder(name: str) -> Path:
    """Where the wheels of this entry are. Another release has another folder."""
    release = "-".join(word.partition("==")[2] for word in WHEELS[name] if "==" in word)
    return binaries.cache_root() / "frameworks" / f"{name}-{release}"


if __name__ == "__main__":  # For tools/setup: a line for each folder, with the arguments of pip.
    for entry, arguments in WHEELS.items():
        print(folder(entry), *arguments)
    sys.exit()
