"""The profiler's C functions by ctypes, without torch, and what they leave on disk."""

from __future__ import annotations

import ctypes
import json
from ctypes import c_char_p, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from acl_calls import Acl

#: aclprofCreateConfig: what torch_npu asks for at Level0 and at Level1 with PipeUtilization.
LEVEL0, LEVEL1 = 0x801, 0x27
PIPE_UTILIZATION = 1
START, STOP = 1, 2
NODE_LEVEL, BASIC_INFO, LAUNCH = 10000, 0, 5
VECTOR = 2

INVALID_PARAM = 100000
REPEAT_INITIALIZE = 100002
INVALID_FILE = 100003
ALREADY_RUN = 100042
NOT_RUN = 100043

HANDLER = ctypes.CFUNCTYPE(ctypes.c_int32, c_uint32, c_void_p, c_uint32)


class Command(ctypes.Structure):
    """MsprofCommandHandle."""

    _fields_ = [
        ("switches", c_uint64),
        ("switches_high", c_uint64),
        ("device_count", c_uint32),
        ("devices", c_uint32 * 64),
        ("model", c_uint32),
        ("type", c_uint32),
        ("rest", c_uint8 * 5136),
    ]


class Api(ctypes.Structure):
    """MsprofApi."""

    _fields_ = [
        ("magic", c_uint16),
        ("level", c_uint16),
        ("type", c_uint32),
        ("thread", c_uint32),
        ("reserve", c_uint32),
        ("begin", c_uint64),
        ("end", c_uint64),
        ("item", c_uint64),
    ]


class Node(ctypes.Structure):
    """MsprofNodeBasicInfo."""

    _pack_ = 1
    _fields_ = [
        ("name", c_uint64),
        ("task_type", c_uint32),
        ("type", c_uint64),
        ("blocks", c_uint32),
        ("flag", c_uint32),
        ("unused", c_uint8 * 12),
    ]


class CompactInfo(ctypes.Structure):
    """MsprofCompactInfo with a node."""

    _fields_ = [
        ("magic", c_uint16),
        ("level", c_uint16),
        ("type", c_uint32),
        ("thread", c_uint32),
        ("length", c_uint32),
        ("time", c_uint64),
        ("node", Node),
    ]


class Profiler(Acl):
    """A profile and the reports that a launcher makes."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder
        self.lib.aclprofCreateConfig.restype = c_void_p
        self.lib.MsprofGetHashId.restype = c_uint64
        assert ctypes.sizeof(Command) == 5424 and ctypes.sizeof(CompactInfo) == 64

    def config(self, switches: int = LEVEL1, devices: tuple[int, ...] = (0,), metrics: int = PIPE_UTILIZATION) -> Any:
        numbers = (c_uint32 * len(devices))(*devices)
        made = self.lib.aclprofCreateConfig(numbers, len(devices), metrics, None, c_uint64(switches))
        return c_void_p(made) if made else None

    def initialize(self) -> int:
        path = self.folder.encode()
        return self.code("aclprofInit", c_char_p(path + b"garbage behind the end"), c_size_t(len(path)))

    def begin(self, **config: Any) -> Any:
        assert self.initialize() == 0
        made = self.config(**config)
        self("aclprofStart", made)
        return made

    def end(self, config: Any) -> list[dict[str, Any]]:
        """Stops; returns the lines of the raw data: the session, then the tasks."""
        self("aclprofStop", config)
        self("aclprofDestroyConfig", config)
        self("aclprofFinalize")
        newest = max(Path(self.folder).glob("PROF_*"))
        return [json.loads(line) for line in (newest / "device_0" / "data" / "tasks.jsonl").open()]

    def report_launch(self, name: str, begin: int, end: int, thread: int, node: bool = True) -> None:
        """What a launcher of triton-ascend reports after a launch; ``node``: as at Level1."""
        key = self.lib.MsprofGetHashId(c_char_p(name.encode()), c_size_t(len(name)))
        api = Api(0x5A5A, NODE_LEVEL, LAUNCH, thread, 0, begin, end, key)
        self("MsprofReportApi", 0, ctypes.byref(api))
        if node:
            info = CompactInfo(0x5A5A, NODE_LEVEL, BASIC_INFO, thread, 0, end)
            info.node = Node(key, VECTOR, key, 3)
            self("MsprofReportCompactInfo", 0, ctypes.byref(info), ctypes.sizeof(info))
