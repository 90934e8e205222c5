"""Pair values of views on a GPU, in Triton: f(s) and the sum of const(s) in one pass.

This is :mod:`latentsimplex.pairs._value_loops` for tensors, with the formulas of :mod:`latentsimplex.pairs.divergence`.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

BLOCK = 1024
"""Pairs of a view that one program turns into pair values."""


@triton.jit
def write_block_values(r, F, sums, least, most, m, blocks, FORWARD: tl.constexpr, SIZE: tl.constexpr):
    """Write f(s) of a block of pairs and their sum of const(s)."""
    # one axis: the others end at 65,535 programs, which the pairs of 12,000 samples would exceed
    v, block = (tl.program_id(0) // blocks).to(tl.int64), (tl.program_id(0) % blocks).to(tl.int64)
    at = block * SIZE + tl.arange(0, SIZE)
    here = at < m
    x = tl.load(r + v * m + at, mask=here, other=1.0)
    x = tl.minimum(tl.maximum(x, least), most)
    s = tl.exp(-x)
    # 1 - s by its series where s is near 1
    rest = tl.where(x < 0.03, x * (1.0 - x * (0.5 - x * (1.0 / 6.0 - x * (1.0 / 24.0)))), 1.0 - s)
    log_rest = tl.log(rest)
    if FORWARD:
        f, const = s, rest * log_rest - s * x
    else:
        f, const = -x - log_rest, -log_rest
    tl.store(F + v * m + at, f, mask=here)
    tl.store(sums + v * blocks + block, tl.sum(tl.where(here, const, 0.0)))


def write_pair_values(r: Any, least: float, most: float, forward: bool, F: Any) -> Any:
    """Write f(s) of s = exp(-r), cut to [least, most], into F (b, m), and return the sums of const(s) (b,)."""
    b, m = r.shape
    blocks = triton.cdiv(m, BLOCK)
    sums = r.new_empty((b, blocks))
    with torch.cuda.device(r.device):
        write_block_values[(b * blocks,)](r, F, sums, least, most, m, blocks, FORWARD=forward, SIZE=BLOCK)
    return sums.double().sum(-1)
