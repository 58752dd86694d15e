"""Whether and how candidates are proposed for a tuner whose user left that to us.

Asked for by ``configs=[]`` where the call leaves constexprs without a value, by hints, and by the argument
``hints={"enable_ascend_autotune": True}`` of the triton-ascend 3.2 wheel, whose ``AutoTilingTuner`` is told by its
module. Of that class only the attributes are kept that others read; the proposing is ``candidates.proposal``'s.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from triton_ascend_tune import settings
from triton_ascend_tune.stock import heuristics_below, jit_function

_log = logging.getLogger("triton_ascend_tune")

_MODULE = "triton.runtime.autotiling_tuner"
#: Hints that speak of axes by their names.
_OF_AXES = ("split_params", "tiling_params", "low_dim_axes", "reduction_axes")
#: Where a tuner keeps what its decorator was given, until its first launch.
GIVEN = "_tune_request"


def generates(tuner_class: type) -> bool:
    """Whether tuners of this class are triton-ascend's that propose candidates."""
    return any(cls.__module__ == _MODULE for cls in tuner_class.__mro__)


def note_given(tuner: Any, configs: Any) -> None:
    """Called by a tuner's constructor: keeps the user's configs, and the hints of ``triton.autotune(hints=...)``.

    The wheel's decorator passes its hints on to no constructor, so they are taken from the decorator's own frame.
    """
    setattr(tuner, GIVEN, (list(configs or ()), _decorator_hints()))


def _decorator_hints() -> dict[str, Any]:
    frame: FrameType | None = sys._getframe(2)
    for _ in range(6):
        if frame is None:
            return {}
        if frame.f_code.co_name == "decorator" and str(frame.f_globals.get("__name__", "")).startswith("triton."):
            given = frame.f_locals.get("hints")
            return dict(given) if isinstance(given, Mapping) else {}
        frame = frame.f_back
    return {}


def _axes_from_key(given: dict[str, Any], keys: Any) -> dict[str, Any]:
    """Hints of triton-ascend's form in which ``key={"x": "n", "ry": "m"}`` names the axes that they speak of.

    There a reduced axis is written with an r before its name, which ours do without.
    """
    if "axes" in given or not isinstance(keys, Mapping) or not any(name in given for name in _OF_AXES):
        return given

    def bare(axis: Any) -> Any:
        marked = isinstance(axis, str) and len(axis) == 2 and axis[0] == "r" and axis[1] not in keys
        return axis[1:] if marked else axis

    result = {**given, "axes": {bare(axis): argument for axis, argument in keys.items()}}
    for name in _OF_AXES:
        said = given.get(name)
        if isinstance(said, Mapping):
            result[name] = {bare(axis): parameter for axis, parameter in said.items()}
        elif isinstance(said, (list, tuple)):
            result[name] = [bare(axis) for axis in said]
    return result


def request_of(tuner: Any) -> Request | None:
    """What the user of ``tuner`` asks us to propose; None if nothing. ValueError for hints that make no sense.

    Hints that the installed ``triton.autotune`` itself ignores must not break a program: if they make no sense they are
    ignored here too, with a warning.
    """
    from triton_ascend_tune.candidates import hints

    noted: tuple[list[Any], dict[str, Any]] = getattr(tuner, GIVEN, (list(tuner.configs), {}))
    user_configs, decorated = noted
    attached = hints.attached(tuner)
    given = _axes_from_key({**decorated, **attached}, tuner.keys)
    if tuner.generates:
        given.setdefault("auto_gen_config", True)
    function = jit_function(tuner.fn)
    if (user_configs and not given) or not hasattr(function, "params") or not hasattr(function, "parse"):
        return None
    try:
        checked = hints.checked(given, function)
    except ValueError as error:
        if tuner.generates or attached:
            raise
        _log.warning("kernel %s: its hints are ignored, as the installed Triton does: %s", function.__name__, error)
        if user_configs:
            return None
        checked = hints.checked({}, function)
    return Request(tuner, function, user_configs, checked)


class Request:
    """Proposals for one tuner.

    ``lengths``: arguments that lengths of axes depend on, which belong into the key. ``exact``: those of them that must
    stay what they are there, because a parameter or a grid that the caller fixes has to cover the axis.
    """

    def __init__(self, tuner: Any, function: Any, user_configs: Sequence[Any], hints: Any) -> None:
        self.hints, self.user_configs = hints, list(user_configs)
        self._tuner, self._function = tuner, function
        self._stock_configs = list(tuner.configs)
        derived = heuristics_below(tuner.fn)
        self._derived = sorted(derived)
        self._open = [
            (place, parameter.name)
            for place, parameter in enumerate(function.params)
            if parameter.is_constexpr
            and parameter.name not in derived
            and (parameter.default is _empty() or parameter.name in hints.tunable)
        ]
        self.lengths: tuple[str, ...] = ()
        self.exact: frozenset[str] = frozenset()
        #: Why nothing could be proposed, for the error that the launch will end in.
        self.why_not = ""

    def asks(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
        """Whether a call leaves anything to propose."""
        if self.hints.lists or self.user_configs or self._tuner.generates:
            return True
        count = len(args)
        return any(place >= count and name not in keywords for place, name in self._open)

    def find_lengths(self, named: Mapping[str, Any], keywords: Mapping[str, Any]) -> None:
        """Learns from a first call which arguments are lengths."""
        from triton_ascend_tune.candidates.proposal import analysed

        try:
            analysis = analysed(
                self._function, self._arguments(named, keywords), self.hints, self._keys(), self._derived
            )
        except Exception as error:  # the source cannot be read; propose() will say so
            _log.debug("kernel %s: no axes", self._function.__name__, exc_info=error)
            return
        found = {name for axis in analysis.axes if axis.length is not None for name in axis.length.parameters}
        self.lengths = tuple(sorted(found))
        fixed_grid = not callable(keywords.get("grid"))
        self.exact = frozenset(
            name
            for axis in analysis.axes
            if axis.length is not None and (axis.whole or (axis.split and fixed_grid))
            for name in axis.length.parameters
        )

    def propose(self, call: Any, plan: Any) -> Any:
        """A ``candidates.proposal.Proposal`` for ``call``; None where only stock behaviour is left."""
        from triton_ascend_tune import grid
        from triton_ascend_tune.candidates import hardware
        from triton_ascend_tune.candidates.proposal import CannotProposeError, Proposal

        self.why_not = ""
        if self._tuner.generates:
            self._check_missing(call)
        launched = call.keywords.get("grid")
        try:
            proposal = Proposal(
                self._function,
                self._arguments(call.named, call.keywords),
                lambda values: grid.grid_of(launched, plan.bound(values)),
                self.hints,
                hardware.current,
                self.user_configs,
                self._keys(),
                self._derived,
                settings.tuning_seconds(),
                self._tuner._protocol().seed,
            )
        except (CannotProposeError, SyntaxError, OSError) as error:
            if self._tuner.generates and not self.user_configs:
                raise ValueError(f"{error}; give `configs`") from error
            self.why_not = str(error)
            _log.warning("%s", error)
            return None
        if self._tuner.generates and proposal.analysis is not None:
            self._show(proposal)
        return proposal

    def _check_missing(self, call: Any) -> None:
        """As the wheel's tuner: ValueError for what the call does not give and nothing can generate."""
        given = {**call.named, **call.keywords}
        if not self.user_configs and not any(hasattr(value, "dtype") for value in given.values()):
            raise ValueError(
                f"kernel {self._function.__name__}: candidates can only be generated for a call with tensors; "
                "give `configs`"
            )
        mine = {name for _, name in self._open} | set(self._derived) | {n for c in self.user_configs for n in c.kwargs}
        missing = [
            parameter.name
            for parameter in self._function.params
            if parameter.name not in given and parameter.name not in mine and parameter.default is _empty()
        ]
        if missing:
            raise ValueError(
                f"Missing required arguments: {missing}. Kernel {self._function.__name__} neither gets them nor lets "
                f"them be generated from its axes; pass them, or set them in `configs`."
            )

    def _show(self, proposal: Any) -> None:
        """The attributes in which the wheel's tuner tells what it found."""
        axes, tuner = proposal.analysis.axes, self._tuner
        tuner.split_params = {axis.name: axis.split or axis.whole for axis in axes if axis.split or axis.whole}
        tuner.tiling_params = {axis.name: axis.tiling for axis in axes if axis.tiling}
        tuner.low_dims = [axis.name for axis in axes if axis.contiguous]
        mine = set(map(id, self.user_configs))
        tuner.gen_configs = [config for config in proposal.configs if id(config) not in mine]

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """A copied tuner makes its own, with its plan."""
        return

    @property
    def stock_configs(self) -> list[Any]:
        """What stock Triton launches where nothing is proposed: the user's configs, or its default one."""
        return self._stock_configs

    def _arguments(self, named: Mapping[str, Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        launch_only = ("grid", "warmup", "stream")
        return {name: value for name, value in {**named, **keywords}.items() if name not in launch_only}

    def _keys(self) -> list[str]:
        keys = self._tuner.keys
        return list(keys.values() if isinstance(keys, Mapping) else keys or ())


def _empty() -> Any:
    import inspect

    return inspect.Parameter.empty
