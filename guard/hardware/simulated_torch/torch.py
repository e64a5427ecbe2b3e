"""As much of PyTorch as pytorch_loop.py calls, over the driver API, to test the loop without a GPU.

A step is kernels of a known length, memory comes from cuMemAlloc, and the driver is found as PyTorch finds it.
"""

from __future__ import annotations

import ctypes
import sys
import types
from contextlib import nullcontext

uint8 = "uint8"
_KERNEL = b"""//gpusim spin block_ns=1000000
.version 6.0
.target sm_60
.address_size 64
.visible .entry spin()
{
    ret;
}
"""


class OutOfMemoryError(RuntimeError):
    """torch.cuda.OutOfMemoryError."""


class _Driver:
    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.context, module, self.kernel = (ctypes.c_void_p() for _ in range(3))
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)
        self.call("cuModuleLoadData", ctypes.byref(module), _KERNEL)
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"spin")

    def call(self, name: str, *arguments: object) -> None:
        """Makes a call that must succeed."""
        result = getattr(self.library, name)(*arguments)
        if result == 2:
            raise OutOfMemoryError("CUDA out of memory")
        if result != 0:
            raise RuntimeError(f"{name}: {result}")

    def launch(self) -> None:
        """Launches a kernel of a millisecond."""
        self.call("cuLaunchKernel", self.kernel, 40, 1, 1, 1024, 1, 1, 0, None, None, None)


_driver: _Driver | None = None


def _get() -> _Driver:
    global _driver
    _driver = _driver or _Driver()
    return _driver


class _Memory:
    def __init__(self, size: int) -> None:
        self.pointer = ctypes.c_uint64()
        _get().call("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(size))

    def __del__(self) -> None:
        if self.pointer.value:
            _get().call("cuMemFree_v2", self.pointer)


class _Model:
    """A model, a layer or a tensor: each method returns it, and calling it launches work."""

    def __call__(self, *_arguments: object) -> _Model:
        _get().launch()
        return self

    def __getattr__(self, _name: str):
        return lambda *_arguments, **_options: self


def _mem_get_info() -> tuple[int, int]:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _get().call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def empty(size: int, **_options: object) -> _Memory:
    """torch.empty."""
    return _Memory(size)


def randn(*_size: int, **_options: object) -> _Model:
    """torch.randn."""
    return _Model()


def inference_mode() -> nullcontext:
    """torch.inference_mode."""
    return nullcontext()


def _module(**members: object) -> types.SimpleNamespace:
    return types.SimpleNamespace(**members)


nn = _module(Linear=lambda *_: _Model(), ReLU=_Model, Sequential=lambda *_: _Model())
optim = _module(SGD=lambda *_, **__: _Model())
cuda = _module(OutOfMemoryError=OutOfMemoryError, mem_get_info=_mem_get_info, empty_cache=lambda: None,
               synchronize=lambda: _get().call("cuCtxSynchronize"))
sys.modules["torch.cuda"] = cuda  # type: ignore[assignment]
