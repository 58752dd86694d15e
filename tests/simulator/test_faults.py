"""Faults on demand under the real torch_npu and triton-ascend, simulated: what a user of the tuner sees of each.

Either one candidate fails with its stage and reason and the others are tuned, or one clear error comes out. Where the
fault is over by then the device works on, tensors are unharmed, and the next tuning is like the first.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

#: 49 blocks are BLOCK=1024. A second tuner leaves that candidate out.
PROGRAM = """
import torch, torch_npu, triton, triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

n = 50_000
x = torch.rand(n).to("npu")
out, kept = torch.zeros_like(x), torch.full((n,), 7.0, device="npu")

def tuned(blocks, **options):
    return triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in blocks], key=["n"], **options)(double)

def attempt(kernel):
    out.zero_()
    found = {"error": None, "cause": None, "outcomes": {}}
    try:
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    except Exception as error:
        cause = error.__cause__
        found.update(error=[type(error).__name__, str(error)], cause=[type(cause).__name__, str(cause)])
    else:
        rows = {str(o.candidate.config.kwargs["BLOCK"]): [o.status.value, o.stage and o.stage.value, o.reason,
                                                          o.samples and min(o.samples.times_ms)]
                for o in kernel.verdict.outcomes}
        found.update(best=kernel.best_config.kwargs["BLOCK"], outcomes=rows)
        found["correct"] = torch.equal(out.cpu(), x.cpu() * 2)
        if kernel.verdict.choice:
            conditions = kernel.verdict.choice.conditions
            found.update(gate=conditions.gate, why=conditions.ungated_because, flush=conditions.flush_bytes)
    return {**found, "entries": len(kernel.cache)}

def works():
    try:
        return torch.equal((kept + 1).cpu(), torch.full((n,), 8.0)) and torch.equal((x * 2 - x).cpu(), x.cpu())
    except RuntimeError as error:
        return str(error)
"""

BOTH = """
first = attempt(tuned([512, 1024, 2048]))
after = works()
second = attempt(tuned([512, 2048]))
report([first, after, second])
"""


def unharmed(after: Any, second: Any) -> bool:
    return bool(
        after is True
        and second["error"] is None
        and second["correct"]
        and [row[0] for row in second["outcomes"].values()] == ["timed", "timed"]
    )


@pytest.mark.parametrize("fault", ["compile_abort", "compile_segv"])
def test_a_compiler_that_crashes_is_one_failed_candidate(run_on_sim: Any, tmp_path: Path, fault: str) -> None:
    """bishengir-compile reports only that its last stage has failed."""
    env = {"CANN_SIM_FAULTS": f"{fault}:double:1024xf32", "TRITON_CACHE_DIR": str(tmp_path)}
    first, after, second = run_on_sim(PROGRAM + BOTH, env=env, timeout=400)
    status, stage, reason, _ = first["outcomes"]["1024"]
    assert (status, stage) == ("failed", "compile")
    assert reason.startswith("MLIRCompilationError: External hivmc run fails")
    assert first["correct"] and first["best"] in (512, 2048)
    assert unharmed(after, second)


def test_a_compiler_that_hangs_is_one_failed_candidate(run_on_sim: Any, tmp_path: Path) -> None:
    env = {"CANN_SIM_FAULTS": "compile_hang:double:1024xf32", "TRITON_CACHE_DIR": str(tmp_path)}
    env["TRITON_ASCEND_TUNE_COMPILE_TIMEOUT"] = "20"
    first, after, second = run_on_sim(PROGRAM + BOTH, env=env, timeout=400)
    assert first["outcomes"]["1024"][:3] == ["failed", "compile", "CompileTimeoutError: took longer than 20 s"]
    assert first["correct"] and unharmed(after, second)


def test_a_kernel_fault_is_one_failed_candidate(run_on_sim: Any) -> None:
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": "kernel:double:49"})
    status, stage, reason, _ = first["outcomes"]["1024"]
    assert (status, stage) == ("failed", "measure")
    assert "507035" in reason and "kernel double: faults on demand" in reason
    assert first["correct"] and first["entries"] == 1
    assert unharmed(after, second)


def test_if_every_candidate_faults_the_error_lists_them_and_restored_tensors_are_as_they_were(run_on_sim: Any) -> None:
    code = """
before = x.cpu()
first = attempt(tuned([512, 1024], restore_value=["x"]))
report([first, works() and torch.equal(x.cpu(), before)])
"""
    first, after = run_on_sim(PROGRAM + code, env={"CANN_SIM_FAULTS": "kernel:double"})
    name, text = first["error"]
    assert name == "NoCandidateError"
    assert text.count("failed in measure: DeviceError: aclrtSynchronizeStream") == 2
    assert first["cause"][0] == "DeviceError"
    assert first["entries"] == 0
    assert after is True


@pytest.mark.parametrize(("fault", "code"), [("device", "507035"), ("launch", "Inner error")])
def test_a_fault_that_costs_the_device_is_one_error_that_names_the_candidate(
    run_on_sim: Any, tmp_path: Path, fault: str, code: str
) -> None:
    """torch_npu's queue drops all work in silence once a launch was refused: nothing may be timed then, or stored."""
    kernel = f"double_{uuid.uuid4().hex}"  # of which nothing is stored yet
    program = (PROGRAM + BOTH).replace("double", kernel)
    faulty = {"TRITON_CACHE_AUTOTUNING": "1", "CANN_SIM_FAULTS": f"{fault}:{kernel}:49"}
    first, after, second = run_on_sim(program, env=faulty)
    name, text = first["error"]
    assert name == "DeviceLostError"
    assert text.startswith("the device is lost (") and "since BLOCK=1024 was launched: " in text
    assert "start a new process" in text
    assert code in text and code in first["cause"][1]
    assert after is not True
    assert second["error"][0] in ("DeviceLostError", "RuntimeError")
    assert "lost" in second["error"][1] or "507035" in second["error"][1]
    assert first["entries"] == second["entries"] == 0

    log = tmp_path / "tasks"
    again, after, _ = run_on_sim(program, env={"TRITON_CACHE_AUTOTUNING": "1", "CANN_SIM_TASK_LOG": str(log)})
    assert [row[0] for row in again["outcomes"].values()] == ["timed"] * 3
    assert again["correct"] and after is True
    assert log.read_text().count(f'"name": "{kernel}"') > 10  # measured anew


def test_after_a_reset_the_device_works_again(run_on_sim: Any) -> None:
    """With the text that aclGetRecentErrMsg gives, and nothing of it on another device."""
    code = """
import ctypes
acl = ctypes.CDLL("libascendcl.so")
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
error = attempt(tuned([512, 1024]))["error"]
calls = [acl.aclrtSynchronizeDevice() for _ in range(3)]
text = acl.aclGetRecentErrMsg().decode()
acl.aclrtSetDevice(1)
other = acl.aclrtSynchronizeDevice()
acl.aclrtSetDevice(0)
report([error[0], calls, text, other, acl.aclrtResetDevice(0), acl.aclrtSynchronizeDevice()])
"""
    env = {"CANN_SIM_FAULTS": "device:double:49", "CANN_SIM_DEVICES": "2"}
    name, calls, text, other, reset, after = run_on_sim(PROGRAM + code, env=env)
    assert name == "DeviceLostError"
    assert calls == [507035] * 3
    assert "kernel double" in text and "device 0 refuses everything until it is reset" in text
    assert (other, reset, after) == (0, 0, 0)


@pytest.mark.parametrize(("fault", "call"), [("record", "aclrtRecordEvent"), ("elapsed", "aclrtEventElapsedTime")])
def test_events_that_fail_are_one_error_that_names_the_call(run_on_sim: Any, fault: str, call: str) -> None:
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": fault})
    for each in (first, second):
        assert each["error"] == [
            "DeviceError",
            f"{call} failed with code 507000: {call}: refused on demand (CANN_SIM_FAULTS) [507000]",
        ]
        assert each["entries"] == 0
    assert after is True


@pytest.mark.parametrize("fault", ["record:400", "elapsed:400"])
def test_an_event_that_fails_now_and_then_costs_no_candidate(run_on_sim: Any, fault: str) -> None:
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": fault})
    assert first["correct"] and [row[0] for row in first["outcomes"].values()] == ["timed"] * 3
    assert unharmed(after, second)


@pytest.mark.parametrize("fault", ["elapsed_zero", "elapsed_negative"])
def test_times_that_are_none_are_one_error_and_never_a_winner(run_on_sim: Any, fault: str) -> None:
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": fault})
    for each in (first, second):
        assert each["error"][0] == "UnusableClockError"
        assert "8 of 8 times between events around work on the device were zero, negative" in each["error"][1]
        assert each["entries"] == 0
    assert after is True


@pytest.mark.parametrize("fault", ["elapsed_zero:97", "elapsed_negative:97"])
def test_single_times_that_are_none_enter_no_statistic(run_on_sim: Any, fault: str) -> None:
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": fault})
    for _, _, _, shortest in first["outcomes"].values():
        assert shortest is not None and shortest > 0
    assert unharmed(after, second)


def test_a_notify_that_never_comes_leaves_the_other_gate_or_none(run_on_sim: Any) -> None:
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": "notify_lost"})
    assert (first["gate"], first["why"]) == ("value", "notify: does not release a stream")
    assert first["correct"] and unharmed(after, second)
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": "notify_lost,value"})
    assert first["gate"] == "" and "notify: does not release a stream" in first["why"] and "value" in first["why"]
    assert first["correct"] and unharmed(after, second)


@pytest.mark.parametrize("number", [1, 2])
def test_one_allocation_that_fails_is_tried_again_by_torch(run_on_sim: Any, number: int) -> None:
    """The first is the program's, the second the flush buffer's. (Where memory stays short: test_gate_simulated.)"""
    first, after, second = run_on_sim(PROGRAM + BOTH, env={"CANN_SIM_FAULTS": f"malloc_nth:{number}"})
    assert first["correct"] and first["flush"] == 192 << 20
    assert unharmed(after, second)
