"""Made-up tables of kernels, as torch_npu's profiler writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

FLUSH = "aclnnReduceSum_ReduceSumOpAiCore_ReduceSum"
FLUSH_TYPE = "ReduceSum"

#: The header at Level1 and PipeUtilization, as seen from torch_npu 2.7.1 to 2.14.0.
HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
    "Output Data Types,Output Formats,Context ID,aicore_time(us)"
)
#: The same from an older msprof.
OLD_HEADER = HEADER.replace("Block Num", "Block Dim")
LEVEL0_HEADER = "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num"
#: What a schedule together with CPU activity adds.
STEP_HEADER = "Step Id," + HEADER

Row = tuple[str, float]


def table(
    rows: Iterable[Row], header: str = HEADER, types: bool = True, start_us: float = 1_767_225_600_000_000.0
) -> str:
    """The file's text: rows of (name, microseconds) one after the other, lines ended by CRLF and times by a TAB."""
    columns = header.split(",")
    lines = [header]
    for task, (name, duration) in enumerate(rows):
        kind = (FLUSH_TYPE if name == FLUSH else name) if types else "N/A"
        values = {
            "Device_id": "0",
            "Stream ID": "2",
            "Task ID": str(task),
            "Name": name,
            "Type": kind,
            "Start Time(us)": f"{start_us + 1000.0 * task:.3f}\t",
            "Duration(us)": f"{duration:.3f}\t",
            "Input Shapes": '"""2;4"""',
            "Step Id": "0",
        }
        lines.append(",".join(values.get(column, "N/A") for column in columns))
    return "\r\n".join(lines) + "\r\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def session(bodies: Sequence[Sequence[Row]], runs: int, lead: int, flush: Sequence[str] = (FLUSH,)) -> list[Row]:
    """The rows of a whole session: ``lead`` flushes, then ``runs`` times a flush and the candidate's body."""
    flushing = [(name, 400.0) for name in flush]
    rows = flushing * lead
    for body in bodies:
        for _ in range(runs):
            rows += [*flushing, *body]
    return rows
