"""Results on disk: one record for each candidate, through Triton's own cache manager.

So ``TRITON_CACHE_DIR``, a user's own cache manager and Triton's remote caches hold. A record is written as soon as the
result is known, by Triton's manager in one atomic step, and is read when a tuning begins. Hence

* a tuning that was killed goes on where it was; an added candidate is measured alone;
* processes that tune the same thing at once take turns (``turns``), so that one measures and the others read; where
  they cannot, the last writer wins, and every one has written a valid record;
* reading or writing never fails a launch: a problem is one warning and a miss.

A candidate that is stored is not measured again; new ones are compared with its stored times. The winner among exactly
the candidates of one tuning is a record of its own, because a measuring plan may have chosen by more than their P50.
Not stored: configs with a ``pre_hook``, whose effect no key can hold, and whatever has no finite time.

Failures to compile lie apart, under what was compiled and not under the tuning key, and only those that would happen
again. A launch that failed is not stored.

A measuring plan that compares candidates knows their results only when it is through. Until then its finished rounds
lie in a record of their own, see ``measure.checkpoints``.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from triton_ascend_tune import identity
from triton_ascend_tune.once import tell_once, warn_once
from triton_ascend_tune.records import (
    BadRecordError,
    NotStorableError,
    Race,
    Record,
    decode,
    decode_race,
    decode_winner,
    digest,
    encode,
    encode_race,
    encode_winner,
    of_outcome,
)
from triton_ascend_tune.values import Candidate, Outcome, Stage, Status

#: A name that file systems take, with Triton's temporary suffix; Triton cuts in the same place.
_NAME_LENGTH = 100

_log = logging.getLogger("triton_ascend_tune")


class Folder:
    """The records of one group, for example the times of one kernel and key. Never raises what a file system raises."""

    def __init__(self, group: str, kernel: str) -> None:
        """``group``: 64 hexadecimal digits."""
        self._group = group
        self._kernel = kernel

    def read(self, name: str, decoded: Callable[[str, str], Any] = decode) -> Any:
        """The record called ``name``; None if there is none, or none that this version can use."""
        try:
            path = self._manager().get_file(self._file(name))
            if path is None:
                return None
            return decoded(Path(path).read_text(encoding="utf-8"), name)
        except BadRecordError as problem:
            warn_once(f"a stored result of kernel {self._kernel} is not used ({problem}); it is measured again")
        except FileNotFoundError:  # another process has just removed it
            pass
        except Exception as problem:  # a file system's, or whatever the client of a remote cache raises
            self._cannot("read", problem)
        return None

    def write(self, name: str, text: str) -> None:
        try:
            self._manager().put(text, self._file(name), binary=False)
        except Exception as problem:
            self._cannot("written", problem)

    def remove(self, name: str) -> None:
        """Removes what lies on this machine's disk; Triton's managers have no such thing for a remote cache."""
        try:
            path = self._manager().get_file(self._file(name))
            if path is not None:
                Path(path).unlink(missing_ok=True)
        except Exception as problem:
            self._cannot("removed", problem)

    def lock(self) -> Path | None:
        """A file to lock while its records are made; None where they are in no folder of a file system."""
        try:
            return Path(self._manager().cache_dir) / f"{self._kernel[:_NAME_LENGTH]}.tune.lock"
        except Exception:
            return None

    def _manager(self) -> Any:
        from triton.runtime.cache import get_cache_manager

        return get_cache_manager(self._group)

    def _file(self, name: str) -> str:
        return f"{self._kernel[:_NAME_LENGTH]}.{name[:32]}.tune.json"

    def _cannot(self, what: str, problem: Exception) -> None:
        warn_once(f"stored tuning results cannot be {what}: {type(problem).__name__}: {problem}")


class Store:
    """The stored times of one kernel, tuning key, place and protocol."""

    def __init__(self, source: str, kernel: str, key: str, toolchain: str, protocol: str) -> None:
        """All texts are those of ``identity``."""
        group = identity.timing_group(source, key, toolchain, protocol)
        self._folder = Folder(group, kernel)
        self._group = group
        self._kernel = kernel
        self._named: dict[int, tuple[Candidate, str | None]] = {}  # by id(); the candidate keeps that its own

    def find(self, candidate: Candidate) -> Outcome | None:
        """What is stored of ``candidate``; None if it has to be measured."""
        name = self._name(candidate)
        record = self._folder.read(name) if name is not None else None
        return record.outcome(candidate) if record is not None and record.status is Status.TIMED else None

    def add(self, outcome: Outcome) -> None:
        """Stores a time; anything else is left out."""
        if outcome.status is not Status.TIMED:
            return
        name = self._name(outcome.candidate)
        if name is None:
            return
        try:
            self._folder.write(name, encode(of_outcome(outcome, name, self._kernel)))
        except NotStorableError as problem:
            _log.info("kernel %s: a result is not stored on disk: %s", self._kernel, problem)

    def lock(self) -> Path | None:
        """A file to lock during a tuning, the same for every process that may store its results here."""
        return self._folder.lock()

    def winner(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """Who was chosen among exactly these ``candidates``, if that is stored."""
        names = self._names(candidates)
        stored = self._folder.read(self._contest(names), decode_winner) if names else None
        return next((each for each, name in zip(candidates, names) if name == stored), None)

    def set_winner(self, winner: Outcome, candidates: Sequence[Candidate]) -> None:
        names = self._names(candidates)
        mine = self._name(winner.candidate)
        if mine is None or not names:
            return
        contest = self._contest(names)
        self._folder.write(contest, encode_winner(contest, mine))

    def race_name(self, candidates: Sequence[Candidate]) -> str | None:
        """Names a race among exactly these ``candidates``, in this order; None if it cannot be stored."""
        names = self._names(candidates)
        return digest("race", self._group, *names) if names else None

    def race(self, name: str, candidates: int) -> Race | None:
        """What is kept of the race called ``name`` over so many candidates; None if nothing is."""
        race: Race | None = self._folder.read(name, functools.partial(decode_race, candidates=candidates))
        return race

    def set_race(self, name: str, race: Race) -> None:
        self._folder.write(name, encode_race(name, self._kernel, race))

    def remove_race(self, name: str) -> None:
        self._folder.remove(name)

    def _contest(self, names: Sequence[str]) -> str:
        return digest("winner", self._group, *names)

    def _names(self, candidates: Sequence[Candidate]) -> list[str]:
        """The names of all ``candidates``; none if one of them is not stored."""
        names = [self._name(candidate) for candidate in candidates]
        return [name for name in names if name is not None] if None not in names else []

    def _name(self, candidate: Candidate) -> str | None:
        if id(candidate) not in self._named:
            self._named[id(candidate)] = candidate, self._made_name(candidate)
        return self._named[id(candidate)][1]

    def _made_name(self, candidate: Candidate) -> str | None:
        if candidate.config.pre_hook is not None:
            tell_once(
                f"kernel {self._kernel}: not stored on disk: a config has a pre_hook, which cannot be part of a key"
            )
            return None
        try:
            return digest("candidate", self._group, identity.candidate_text(candidate))
        except NotStorableError as problem:
            tell_once(f"kernel {self._kernel}: a config is not stored on disk: {problem}")
            return None


class Failures:
    """Candidates that are known not to compile, in this process and, with a ``toolchain``, on disk.

    Named by ``identity.compile_identity``.
    """

    #: More would mean that names never meet again.
    _LIMIT = 4096

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    @property
    def any(self) -> bool:
        return bool(self._known)

    def forget(self) -> None:
        """Compile everything again; what is on disk stays."""
        self._known.clear()

    def find(self, name: str, toolchain: str | None, kernel: str) -> str | None:
        """The reason, if what is called ``name`` has failed before."""
        reason = self._known.get(name)
        if reason is None and toolchain is not None:
            record = Folder(digest("failures", toolchain), kernel).read(name)
            if record is not None and record.status is Status.FAILED and record.stage is Stage.COMPILE:
                reason = self._known[name] = record.reason
        return reason

    def add(self, name: str, outcome: Outcome, toolchain: str | None, kernel: str) -> None:
        if len(self._known) >= self._LIMIT:
            self._known.clear()
        self._known[name] = outcome.reason
        if toolchain is not None:
            config = str(outcome.candidate.config)
            record = Record(name, kernel, config, Status.FAILED, Stage.COMPILE, outcome.reason)
            Folder(digest("failures", toolchain), kernel).write(name, encode(record))


#: What this process knows; kernels of the same source share it.
failures = Failures()
