"""Sorting, selecting, scattering, rearranging and the less common functions, against torch on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_cases import ALL, FLOATS, INTEGERS, NUMBERS, Cases

CASES: Cases = {
    # sorting and selection
    "a.sort(1).values": NUMBERS,
    "a.gather(1, a.sort(1).indices)": NUMBERS,
    "a.sort(0, descending=True).values": FLOATS,
    "torch.sort(a[:, ::2], 1).values": FLOATS,
    "a.gather(1, a.argsort(1))": FLOATS,
    "(a / 0).sort(1).values": FLOATS,
    "a.topk(5, 1).values": (*FLOATS, "int32"),
    "a.topk(5, 0, largest=False).values": FLOATS,
    "torch.sort(a.gather(1, a.topk(5, 1).indices), 1).values": FLOATS,
    "a.argmax(0)": ("float32",),
    "a.argmin(1)": ("float32",),
    "a.min(1).values": FLOATS,
    "a.median()": ("float32", "float16"),
    "a.median(1).values": ("float32", "float16"),
    "a.cummax(1).values": FLOATS,
    "a.cummax(1).indices": FLOATS,
    "a.cummin(0).values": FLOATS,
    "a.cumprod(1)": ("float32",),
    "a.cumsum(0)": (*FLOATS, "int64"),
    "torch.unique(i)": ("float32",),
    "torch.unique(a.round())": ("float32", "float16"),
    "torch.unique(labels[i], return_inverse=True, return_counts=True)[1]": ("float32",),
    "torch.unique(a.long(), return_inverse=True, return_counts=True)[2]": ("float32",),
    "torch.searchsorted(row.sort().values, column)": FLOATS,
    "torch.bucketize(a, row.sort().values, right=True)": ("float32",),
    # gathering and scattering
    "F.embedding(i, a)": NUMBERS,
    "a.take_along_dim(i[None], 1)": NUMBERS,
    "a.take(i)": NUMBERS,
    "a.masked_select(m)": NUMBERS,
    "torch.where(m)[1]": ("float32",),
    "a.masked_scatter(m, b)": FLOATS,
    "a.index_fill(0, i, 1)": NUMBERS,
    "a.index_add(0, i, b[:4])": NUMBERS,
    "a.index_add(1, i, b[:, :4], alpha=2)": NUMBERS,
    "a.index_copy(0, i, b[:4])": FLOATS,
    "a.scatter(1, i.expand(6, 4), b)": NUMBERS,
    "a.scatter(1, i.expand(6, 4), 1)": NUMBERS,
    "a.scatter(0, i[:, None].expand(4, 9), b)": NUMBERS,
    "a.scatter_add(1, i.expand(6, 4) // 2, b)": NUMBERS,
    "change(a, lambda x: x.put_(i, b[0, :4]))": FLOATS,
    "change(a, lambda x: x.index_put_((i,), b[:4]))": NUMBERS,
    "change(a, lambda x: x.index_put_((i // 2,), b[:4], accumulate=True))": FLOATS,
    "change(a, lambda x: x.index_put_((i, i), b[0, :4]))": NUMBERS,
    "change(a, lambda x: x.masked_fill_(m, 0))": ALL,
    "change(a, lambda x: x.diagonal().fill_(1))": NUMBERS,
    "change(a, lambda x: x[:, 5:9].add_(1))": NUMBERS,
    "change(a, lambda x: x[:, ::7].mul_(2))": NUMBERS,
    "change(a, lambda x: x.t().copy_(b.t()))": ALL,
    "change(a, lambda x: x.__setitem__((0, slice(2, 9)), row[2:9]))": ALL,
    "F.one_hot(labels)": ("float32",),
    "F.one_hot(i, 7)": ("float32",),
    "torch.bincount(labels)": ("float32",),
    "torch.bincount(i, row[:4])": ("float32",),
    "torch.histc(a, 10, -3, 3)": ("float32",),
    "a.repeat_interleave(3, 0)": NUMBERS,
    "a.repeat_interleave(2, 1)": NUMBERS,
    "a.repeat_interleave(torch.tensor([1, 2, 0, 3, 1, 1], device=d), 0)": FLOATS,
    # rearranging
    "torch.cat([a, b[:0]])": FLOATS,
    "torch.cat([a.t(), b.t()])": NUMBERS,
    "torch.stack([row, row])": ALL,
    "a.chunk(4, 1)[2].contiguous()": NUMBERS,
    "a.split(4)[1].contiguous()": NUMBERS,
    "a.expand(2, 6, 130).contiguous()": ALL,
    "a.flip(0, 1)": ALL,
    "a.roll(3, 1)": NUMBERS,
    "a.roll((1, -2), (0, 1))": FLOATS,
    "a.roll(7)": FLOATS,
    "torch.rot90(a)": NUMBERS,
    "a.unfold(1, 10, 5).contiguous()": FLOATS,
    "F.pad(a, (1, 2))": NUMBERS,
    "F.pad(a, (1, 2, 3, 4), value=5.0)": FLOATS,
    "image.permute(0, 2, 3, 1).contiguous()": ALL,
    "a.repeat(2, 1, 2)": ALL,
    "torch.tril(a, -1)": ALL,
    "torch.triu(a, 1)": ALL,
    "torch.diag(row[:5])": NUMBERS,
    "torch.meshgrid(i, i, indexing='ij')[1].contiguous()": ("float32",),
    "torch.logspace(0, 2, 5, device=d)": ("float32",),
    "torch.arange(0, 1, 0.1, device=d)": ("float32",),
    "torch.arange(10, 0, -3, dtype=t, device=d)": (*FLOATS, "int32", "int64"),
    "torch.eye(3, 5, dtype=t, device=d)": ALL,
    "torch.full((3, 2), a.max().item(), device=d)": ("float32",),
    # functions
    "~a": (*INTEGERS, "bool"),
    "a << 1": INTEGERS,
    "a >> p.clamp(max=6)": ("int32", "int64"),
    "torch.logical_or(a, b)": ALL,
    "torch.logical_xor(a, b)": ALL,
    "torch.frac(a)": FLOATS,
    "torch.exp2(a)": FLOATS,
    "torch.log2(p)": FLOATS,
    "torch.log10(p)": FLOATS,
    "torch.log1p(p)": FLOATS,
    "torch.expm1(a)": FLOATS,
    "torch.pow(p, b)": ("float32",),
    "2 ** a": FLOATS,
    "torch.sign(a)": NUMBERS,
    "torch.asinh(a)": FLOATS,
    "torch.acosh(p + 1)": FLOATS,
    "torch.atanh(a / 20)": FLOATS,
    "torch.atan2(a, b)": FLOATS,
    "torch.erfinv(a / 20)": FLOATS,
    "torch.xlogy(a - a, p)": FLOATS,
    "torch.xlogy(p, p)": FLOATS,
    "torch.lerp(a, b, 0.3)": FLOATS,
    "torch.lerp(a, b, p)": FLOATS,
    "torch.addcmul(a, b, row, value=0.5)": FLOATS,
    "torch.addcdiv(a, b, p, value=0.5)": FLOATS,
    "torch.logaddexp(a, b)": FLOATS,
    "torch.logaddexp2(a, b)": FLOATS,
    "torch.round(a, decimals=1)": ("float32",),
    "torch.nan_to_num(a / 0)": FLOATS,
    "torch.nan_to_num((a - a) / 0, nan=3.0)": FLOATS,
    "torch.fmod(a, p)": FLOATS,
    "torch.div(a, p, rounding_mode='floor')": NUMBERS,
    "torch.div(a, p, rounding_mode='trunc')": NUMBERS,
    "torch.clamp(a, row.clamp(max=0), column.abs())": FLOATS,
    "a + b.float()": NUMBERS,
    "a * m": NUMBERS,
    "a * 2.5": NUMBERS,
    # nothing, and one number
    "empty + 1": NUMBERS,
    "empty.sum(0)": FLOATS,
    "empty.sum()": FLOATS,
    "empty.t().contiguous()": ALL,
    "empty @ a[:4]": FLOATS,
    "torch.softmax(empty, 1)": FLOATS,
    "empty.sort(1).values": FLOATS,
    "empty.to(torch.float32)": ALL,
    "torch.cat([empty, empty])": ALL,
    "scalar + 1": NUMBERS,
    "scalar * a": NUMBERS,
    "scalar.exp()": FLOATS,
    "scalar.sum()": FLOATS,
}


@pytest.mark.parametrize("expression", CASES)
def test_agrees_with_torch_on_the_cpu(wrong: dict[str, dict[str, str]], expression: str) -> None:
    assert not wrong[expression]


def test_every_index_out_of_range_is_a_device_error(run_on_sim: Callable[..., Any]) -> None:
    """Each kind in a process of its own: the device is lost after the first."""
    for expression in (
        "x.scatter(0, i, x)",
        "x.index_add(0, i, x[:1])",
        "torch.nn.functional.one_hot(i, 3)",
        "x.take(i)",
    ):
        message = run_on_sim(
            f"""
            import torch, torch_npu
            x, i = torch.ones(3, device="npu"), torch.tensor([7], device="npu")
            try:
                {expression}
                torch.npu.synchronize()
                report("")
            except RuntimeError as error:
                report(str(error))
            """
        )
        assert "index 7 is outside a dimension of 3" in message, expression
