"""The frequency of this machine's time-stamp counter, which QEMU's emulation passes on.

A kernel that boots on an emulated and busy processor may measure it wrongly. Once the clock of the
virtual machine ran at 2.7 times the speed. So the frequency is an argument of the kernel.
"""

from __future__ import annotations

import ctypes
import mmap
import time

SECONDS = 0.2
TRIES = 5
# rdtsc; shl rdx, 32; or rax, rdx; ret
_CODE = bytes.fromhex("0f31 48c1e220 4809d0 c3")


def tsc_khz() -> int:
    """The frequency in kHz, to about a ten-thousandth."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_CODE)
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(
        ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def both() -> tuple[int, int]:
        """Counter and nanoseconds, of the try in which the two were read closest to each other."""
        return min((_read(rdtsc) for _ in range(TRIES)), key=lambda each: each[0])[1:]
    ticks, began = both()
    time.sleep(SECONDS)
    later, ended = both()
    return (later - ticks) * 1_000_000 // (ended - began)


def _read(rdtsc: "ctypes._FuncPointer") -> tuple[int, int, int]:
    before = rdtsc()
    now = time.monotonic_ns()
    after = rdtsc()
    return after - before, (before + after) // 2, now
