"""The simulated libascendcl.so by ctypes, without torch: what the runtime's tests call.

Every method raises AclError unless the call succeeds; ``code(name, ...)`` returns the error code instead.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

H2D, D2H, D2D = 1, 2, 3
TIMELINE = 8
MIB = 1 << 20
DEVICES_OUT = 107001
NOT_SUPPORTED = 207000
OUT_OF_MEMORY = 207001
INVALID_PARAM = 100000
RT_PARAM_INVALID = 107000
INVALID_HANDLE = 107017
WAIT_TIMEOUT = 107019
TIMESTAMP_INVALID = 107006
TIMESTAMP_REVERSAL = 107007
STREAM_TASK_FULL = 507002
STREAM_NOT_COMPLETE = 507004
STREAM_SYNC_TIMEOUT = 507046
EVENT_SYNC_TIMEOUT = 507047
KERNEL_LOOKUP = 507027
VECTOR_CORE_EXCEPTION = 507035


def rss_mib() -> float:
    """The real memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / MIB


class AclError(RuntimeError):
    def __init__(self, call: str, code: int, text: str) -> None:
        super().__init__(f"{call}: {code}: {text}")
        self.code, self.text = code, text


class DevBinary(ctypes.Structure):
    _fields_ = [("magic", c_uint32), ("version", c_uint32), ("data", c_char_p), ("length", c_uint64)]


class Acl:
    """One process's library, initialised, with device 0 chosen for this thread."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL("libascendcl.so")
        self.lib.aclGetRecentErrMsg.restype = c_char_p
        self.lib.MsprofSysCycleTime.restype = c_uint64
        self._keep: list[Any] = []
        self("aclInit", None)
        self("aclrtSetDevice", 0)

    def code(self, name: str, *args: Any) -> int:
        return int(getattr(self.lib, name)(*args))

    def message(self) -> str:
        text = self.lib.aclGetRecentErrMsg()
        return text.decode() if text else ""

    def __call__(self, name: str, *args: Any) -> None:
        code = self.code(name, *args)
        if code:
            raise AclError(name, code, self.message())

    def host_ns(self) -> int:
        return int(self.lib.MsprofSysCycleTime())

    # ---- streams, events, notifies
    def _made(self, name: str, *args: Any) -> c_void_p:
        handle = c_void_p()
        self(name, byref(handle), *args)
        return handle

    def stream(self) -> c_void_p:
        return self._made("aclrtCreateStreamWithConfig", 0, 0)

    def event(self, flags: int = TIMELINE) -> c_void_p:
        return self._made("aclrtCreateEventExWithFlag", flags)

    def notify(self) -> c_void_p:
        return self._made("aclrtCreateNotify", c_uint64(0))

    def recorded(self, stream: c_void_p | None = None) -> c_void_p:
        event = self.event()
        self("aclrtRecordEvent", event, stream)
        return event

    def sync(self, stream: c_void_p | None = None) -> None:
        self("aclrtSynchronizeStream", stream)

    def elapsed_ns(self, start: c_void_p, end: c_void_p) -> int:
        ms = c_float()
        self("aclrtEventElapsedTime", byref(ms), start, end)
        return round(ms.value * 1e6)

    def time_ns(self, event: c_void_p) -> int:
        value = c_uint64()
        self("aclrtEventGetTimestamp", event, byref(value))
        return value.value

    def event_complete(self, event: c_void_p) -> bool:
        status = c_int32()
        self("aclrtQueryEventStatus", event, byref(status))
        return status.value == 1

    # ---- memory
    def malloc(self, size: int) -> int:
        address = c_void_p()
        self("aclrtMalloc", byref(address), c_size_t(size), 0)
        return address.value or 0

    def fill(self, address: int, value: int, size: int, stream: c_void_p | None = None) -> None:
        self("aclrtMemsetAsync", c_void_p(address), c_size_t(size), value, c_size_t(size), stream)

    def copy(self, to: int, source: int, size: int, kind: int, stream: c_void_p | None = None) -> None:
        self("aclrtMemcpyAsync", c_void_p(to), c_size_t(size), c_void_p(source), c_size_t(size), kind, stream)

    def upload(self, to: int, data: bytes) -> None:
        self("aclrtMemcpy", c_void_p(to), c_size_t(len(data)), c_char_p(data), c_size_t(len(data)), H2D)

    def download(self, source: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        self("aclrtMemcpy", buffer, c_size_t(size), c_void_p(source), c_size_t(size), D2H)
        return buffer.raw

    # ---- kernels
    def register(self, data: bytes, entry: bytes) -> c_void_p:
        """Registers an object of hivmc; returns the stub that stands for its entry."""
        binary, handle = DevBinary(0x41415246, 0, data, len(data)), c_void_p()
        self("rtDevBinaryRegister", byref(binary), byref(handle))
        stub = ctypes.create_string_buffer(8)
        self._keep.append(stub)
        address = c_void_p(ctypes.addressof(stub))
        self("rtFunctionRegister", handle, address, entry + b"_0", c_char_p(entry), 0)
        return address

    def launch(self, stub: c_void_p, blocks: int, arguments: bytes, stream: c_void_p | None = None) -> None:
        self("rtKernelLaunch", stub, blocks, c_char_p(arguments), len(arguments), None, stream)
