"""The part of a GPU's multiprocessor that the blocks of a kernel can fill, by NVIDIA's public formula."""

from __future__ import annotations

MULTIPROCESSOR = {
    "sm_70": (2048, 32, 96),
    "sm_75": (1024, 16, 64),
    "sm_80": (2048, 32, 164),
    "sm_86": (1536, 16, 100),
    "sm_87": (1536, 16, 164),
    "sm_89": (1536, 24, 100),
    "sm_90": (2048, 32, 228),
}
"architecture -> threads, blocks, and KiB of shared memory: CUDA C++ Programming Guide, technical specifications by compute capability"
WARP = 32
RESERVED = 1024
"bytes of shared memory that the system takes for each block, from sm_80 on"


def occupancy(arch: str, threads: int, shared: int) -> str | None:
    """Return the part of a multiprocessor's warps that run at once, with what limits it; None if it is not known.

    Registers are not counted: only the compiled code has their number.

    >>> occupancy("sm_80", 256, 0)
    '100 % (8 blocks a multiprocessor, registers not counted)'
    >>> occupancy("sm_80", 64, 40_000)
    '12 % (4 blocks a multiprocessor, by shared memory; registers not counted)'
    """
    limits = MULTIPROCESSOR.get(arch[:5])
    if limits is None or not 0 < threads <= 1024:
        return None
    most_threads, most_blocks, kib = limits
    warps = -(-threads // WARP)
    need = shared + (RESERVED if arch >= "sm_80" else 0)
    by = {
        "threads": most_threads // (warps * WARP),
        "the number of blocks": most_blocks,
        "shared memory": kib * 1024 // need if shared else most_blocks,
    }
    blocks = min(by.values())
    part = blocks * warps * WARP / most_threads
    least = next(name for name, count in by.items() if count == blocks)
    reason = ", " if part >= 0.995 else f", by {least}; "
    plural = "" if blocks == 1 else "s"
    return f"{part:.0%} ({blocks} block{plural} a multiprocessor{reason}registers not counted)".replace("%", " %")
