"""The operator engine against torch on the CPU: the real torch_npu runs on it, in one process for all cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_cases import ALL, FLOATS, INTEGERS, NUMBERS, Cases

CASES: Cases = {
    # arithmetic and broadcasting
    "a + b": NUMBERS,
    "a - row": NUMBERS,
    "a * column": NUMBERS,
    "row + column": NUMBERS,
    "a + 3": NUMBERS,
    "2 - a": NUMBERS,
    "a.add(b, alpha=2)": NUMBERS,
    "a.clone().add_(row)": NUMBERS,
    "a / p": FLOATS,
    "a / 3": NUMBERS,
    "a // p": NUMBERS,
    "a % p": (*FLOATS, "int32", "int64"),
    "-a": NUMBERS,
    "a.abs()": NUMBERS,
    "a.square()": FLOATS,
    "a ** 2": FLOATS,
    "p ** 1.5": FLOATS,
    "torch.maximum(a, row)": NUMBERS,
    "torch.minimum(a, column)": NUMBERS,
    "a.clamp(-1, 1)": NUMBERS,
    "torch.exp(a)": FLOATS,
    "torch.log(p)": FLOATS,
    "torch.sqrt(p)": FLOATS,
    "torch.rsqrt(p)": FLOATS,
    "torch.reciprocal(p)": FLOATS,
    "torch.sigmoid(a)": FLOATS,
    "torch.tanh(a)": FLOATS,
    "torch.relu(a)": FLOATS,
    "torch.erf(a)": FLOATS,
    "torch.sin(a)": FLOATS,
    "torch.cos(a)": FLOATS,
    "torch.ceil(a)": FLOATS,
    "torch.floor(a)": FLOATS,
    "torch.round(a)": FLOATS,
    "torch.trunc(a)": FLOATS,
    "torch.nn.functional.silu(a)": FLOATS,
    "a & b": (*INTEGERS, "bool"),
    "a | row": (*INTEGERS, "bool"),
    "a ^ b": INTEGERS,
    "~a": ("bool",),
    # comparisons and choices
    "a == b": ALL,
    "a != row": ALL,
    "a > 0": NUMBERS,
    "a >= column": NUMBERS,
    "a < b": NUMBERS,
    "a <= row": NUMBERS,
    "torch.logical_and(a, b)": ("bool",),
    "torch.logical_not(a)": ("bool",),
    "torch.isfinite(a / 0)": FLOATS,
    "torch.isnan(a / 0)": FLOATS,
    "torch.isinf(a / 0)": FLOATS,
    "torch.isclose(a, a + 1e-7)": ("float32",),
    "torch.where(m, a, row)": ALL,
    "torch.where(m, a, 0)": NUMBERS,
    "a.masked_fill(m, 1)": NUMBERS,
    # reductions
    "a.sum()": (*FLOATS, "int32", "bool"),
    "a.sum(0)": FLOATS,
    "a.sum(1, keepdim=True)": FLOATS,
    "a.view(2, 3, 130).sum((0, 2))": FLOATS,
    "a.mean()": FLOATS,
    "a.mean(-1)": FLOATS,
    "a.max()": ("float32", "float16", "int32"),
    "a.amax(1)": ("float32", "float16", "int32"),
    "a.amin(0)": ("float32", "float16", "int32"),
    "a.max(1).values": ("float32", "float16"),
    "a.argmax(1)": ("float32", "float16"),
    "p[:, :9].prod(1)": ("float32",),
    "a.all(1)": ("bool",),
    "a.any()": ("bool",),
    "a.std()": ("float32",),
    "a.var(1)": ("float32",),
    "a.norm()": ("float32",),
    "a.cumsum(1)": ("float32",),
    # made from nothing
    "torch.zeros(3, 5, dtype=t, device=d)": ALL,
    "torch.ones(3, 5, dtype=t, device=d)": ALL,
    "torch.full((3, 5), 2, dtype=t, device=d)": NUMBERS,
    "a.clone().fill_(1)": ALL,
    "a.clone().zero_()": ALL,
    "torch.arange(1, 40, 3, dtype=t, device=d)": ("float32", "int32", "int64"),
    "torch.linspace(0, 1, 7, device=d)": ("float32",),
    "torch.eye(4, device=d)": ("float32",),
    # moves and conversions
    "a.t().contiguous()": ALL,
    "a.view(2, 3, 130).permute(2, 0, 1).contiguous()": ALL,
    "a[:, ::3].contiguous()": NUMBERS,
    "a[1:4, 5:20].contiguous()": NUMBERS,
    "row.expand(4, 130).contiguous()": NUMBERS,
    "a.t().cpu()": ALL,
    "a.clone().copy_(row)": NUMBERS,
    "torch.cat([a, b], 1)": NUMBERS,
    "torch.cat([a, b])": NUMBERS,
    "torch.stack([a, b], 1)": NUMBERS,
    "a.flip(0)": FLOATS,
    "a.repeat(2, 3)": FLOATS,
    "torch.tril(a)": FLOATS,
    "torch.triu(a, 2)": FLOATS,
    **{f"a.to(torch.{target})": ALL for target in ALL},
    # indexing
    "a[m]": NUMBERS,
    "a[i]": NUMBERS,
    "a[:, i]": FLOATS,
    "a[i, i]": FLOATS,
    "a.index_select(1, i)": FLOATS,
    "a.gather(1, i.expand(6, 4))": FLOATS,
    "m.nonzero()": ("float32",),
    "change(a, lambda x: x[2].fill_(1))": FLOATS,
    "change(a, lambda x: x[:, 3].fill_(1))": FLOATS,
    "change(a, lambda x: x[:, 1].copy_(x[:, 2]))": FLOATS,
    "change(a, lambda x: x.__setitem__(m, 1))": FLOATS,
    "change(a, lambda x: x.__setitem__(i, 2))": FLOATS,
    # matrices and rows
    "a @ b.t()": ("float32", "float16"),
    "a.t() @ b": ("float32", "float16"),
    "a @ row": ("float32",),
    "torch.bmm(a.view(2, 3, 130), b.view(2, 130, 3))": ("float32",),
    "torch.nn.functional.linear(a, b, column.view(6))": ("float32",),
    "torch.softmax(a, -1)": FLOATS,
    "torch.softmax(a, 0)": FLOATS,
    "torch.log_softmax(a, -1)": FLOATS,
    "torch.nn.functional.layer_norm(a, (130,), row, row)": ("float32",),
}


@pytest.mark.parametrize("expression", CASES)
def test_agrees_with_torch_on_the_cpu(wrong: dict[str, dict[str, str]], expression: str) -> None:
    assert not wrong[expression]


def test_scalars_comparisons_and_printing(run_on_sim: Callable[..., Any]) -> None:
    found = run_on_sim(
        """
        import torch, torch_npu
        x = torch.tensor([[1.5, -2.25], [1e10, 0.0]], device="npu")
        report({
            "item": x[0, 1].item(),
            "equal": [torch.equal(x, x.clone()), torch.equal(x, x + 1)],
            "allclose": [torch.allclose(x, x * (1 + 1e-7)), torch.allclose(x, x + 1)],
            "text": str(x),
            "whole": str(torch.arange(3, device="npu")),
            "half": str(torch.ones(2, device="npu", dtype=torch.bfloat16)),
            "cpu": str(x.cpu()),
        })
        """
    )
    assert found["item"] == -2.25
    assert found["equal"] == [True, False]
    assert found["allclose"] == [True, False]
    assert found["text"] == found["cpu"][:-1] + ", device='npu:0')"
    assert found["whole"] == "tensor([0, 1, 2], device='npu:0')"
    assert found["half"] == "tensor([1., 1.], device='npu:0', dtype=torch.bfloat16)"


def test_random_numbers_repeat_and_have_the_right_distribution(run_on_sim: Callable[..., Any]) -> None:
    found = run_on_sim(
        """
        import torch, torch_npu
        def draw(make, seed):
            torch.manual_seed(seed)
            return make().cpu()
        n = 100_000
        makers = {
            "normal": lambda: torch.randn(n, device="npu"),
            "uniform": lambda: torch.rand(n, device="npu"),
            "half": lambda: torch.rand(n, device="npu", dtype=torch.float16),
        }
        answer = {}
        for name, make in makers.items():
            x, again, other = draw(make, 1), draw(make, 1), draw(make, 2)
            y = x.double()
            answer[name] = dict(repeats=torch.equal(x, again), differs=not torch.equal(x, other),
                                mean=y.mean().item(), std=y.std().item(), low=y.min().item(), high=y.max().item(),
                                correlation=(torch.corrcoef(torch.stack([y[:-1], y[1:]]))[0, 1]).item())
        torch.manual_seed(1)
        first, second = torch.randn(n, device="npu").cpu(), torch.randn(n, device="npu").cpu()
        answer["fresh"] = not torch.equal(first, second)
        answer["permutation"] = torch.randperm(100, device="npu").cpu().sort().values.tolist() == list(range(100))
        whole = torch.randint(0, 10, (n,), device="npu").cpu()
        answer["integers"] = [whole.min().item(), whole.max().item(), whole.float().mean().item()]
        report(answer)
        """
    )
    for name in ("normal", "uniform", "half"):
        assert found[name]["repeats"] and found[name]["differs"], name
        assert abs(found[name]["correlation"]) < 0.02, name
    # Five standard errors of a mean over 100,000 numbers.
    assert abs(found["normal"]["mean"]) < 0.016
    assert abs(found["normal"]["std"] - 1) < 0.012
    assert found["normal"]["high"] > 3.5 and found["normal"]["low"] < -3.5
    for name in ("uniform", "half"):
        assert abs(found[name]["mean"] - 0.5) < 0.005
        assert abs(found[name]["std"] - 12**-0.5) < 0.005
        assert found[name]["low"] >= 0 and found[name]["high"] < 1
    assert found["fresh"] and found["permutation"]
    assert found["integers"][:2] == [0, 9]
    assert abs(found["integers"][2] - 4.5) < 0.05


def test_an_unknown_operator_is_an_error_that_names_it(run_on_sim: Callable[..., Any]) -> None:
    for blocking in ("0", "1"):
        message = run_on_sim(
            """
            import torch, torch_npu
            x = torch.ones(3, device="npu")
            try:
                torch.inverse(x.diag())
                torch.npu.synchronize()
                report("")
            except RuntimeError as error:
                report(str(error))
            """,
            env={"ASCEND_LAUNCH_BLOCKING": blocking},
        )
        assert "operator MatrixInverse is not implemented by the simulated CANN" in message
        assert "inputs: float32 [3, 3]; outputs: float32 [3, 3]; attributes: adjoint = 0" in message


def test_an_index_out_of_range_is_a_device_error(run_on_sim: Callable[..., Any]) -> None:
    message = run_on_sim(
        """
        import torch, torch_npu
        x = torch.ones(3, 2, device="npu")
        try:
            y = x.index_select(0, torch.tensor([7], device="npu"))
            torch.npu.synchronize()
            report("")
        except RuntimeError as error:
            report(str(error))
        """
    )
    assert "index 7 is outside a dimension of 3" in message


def test_clearing_and_summing_a_large_zero_buffer_needs_no_memory(run_on_sim: Callable[..., Any]) -> None:
    """The 192 MiB that a benchmark clears or sums before each launch are neither written nor read for real."""
    found = run_on_sim(
        """
        import torch, torch_npu
        def resident_kib():
            return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1])
        flush = torch.empty(192 * 2**20 // 4, dtype=torch.int32, device="npu")
        flush[:10].sum()   # whatever the first operators load
        torch.npu.synchronize()
        before = resident_kib()
        for _ in range(20):
            flush.zero_()
            total = flush.sum()
        torch.npu.synchronize()
        grown = resident_kib() - before
        flush[12345] = 5
        report({"total": total.item(), "grown_kib": grown, "after_write": flush.sum().item()})
        """
    )
    assert found["total"] == 0
    assert found["grown_kib"] < 16 * 1024
    assert found["after_write"] == 5
