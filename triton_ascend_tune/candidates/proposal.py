"""The candidates of one call: everything of this folder put together behind two questions, which first, which next."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton_ascend_tune.candidates import hints as hinting
from triton_ascend_tune.candidates import options, presets, rescue, tiles, variants
from triton_ascend_tune.candidates.axes import Analysis, analyse
from triton_ascend_tune.candidates.footprint import Footprint
from triton_ascend_tune.candidates.hardware import Hardware
from triton_ascend_tune.candidates.hints import Hints
from triton_ascend_tune.candidates.search import LocalSearch, Point, Seen, Staged, Values

_log = logging.getLogger("triton_ascend_tune")

#: Of the room for candidates, the part that is kept for what is learnt from the first ones.
KEPT_FOR_LATER = 0.25
#: The option without which one vector core does the work of two.
SHARING = "enable_auto_bind_sub_block"
#: Reasons that are shown of candidates that were never compiled; there can be hundreds.
SHOWN_DROPPED = 32


class CannotProposeError(ValueError):
    """Candidates cannot be told from the kernel; the text says what is missing, and where."""


def analysed(
    function: Any, given: Mapping[str, Any], hints: Hints, keys: Sequence[str], derived: Sequence[str]
) -> Analysis:
    """The axes of one call, hints included. ``tunable_parameter`` makes constexprs with defaults tunable."""
    analysis = analyse(_Tunable(function, hints.tunable), given, keys, [*derived, *hints.lists])
    return hinting.applied(hints, analysis)


class _Tunable:
    """A JIT function some of whose defaults count as missing."""

    def __init__(self, function: Any, names: Sequence[str]) -> None:
        self._function = function
        self.params = [_NoDefault(each) if each.name in names else each for each in function.params]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


class _NoDefault:
    def __init__(self, parameter: Any) -> None:
        import inspect

        self.name, self.is_constexpr, self.default = parameter.name, parameter.is_constexpr, inspect.Parameter.empty


class Proposal:
    """What to try for one call, and what next once outcomes are known.

    ``configs``: the first candidates, in the order in which they are worth trying, the user's own last. ``dropped``:
    configs that cannot work, with the reason. ``analysis``: None where only the user's configs were expanded.
    """

    def __init__(
        self,
        function: Any,
        given: Mapping[str, Any],
        grid: Callable[[Mapping[str, Any]], tuple[int, ...] | None],
        hints: Hints,
        hardware: Callable[[], Hardware],
        user_configs: Sequence[Any] = (),
        keys: Sequence[str] = (),
        derived: Sequence[str] = (),
        budget_s: float | None = None,
        seed: int = 0,
    ) -> None:
        """``given``: the call's arguments and compile options by name. ``budget_s``: for the whole tuning.

        CannotProposeError says what of the kernel could not be told.
        """
        self._function, self._given, self._grid, self._hints = function, dict(given), grid, hints
        self.configs: list[Any] = []
        self.dropped: list[tuple[Any, str]] = []
        self.analysis: Analysis | None = None
        self._points: dict[int, tuple[Any, Point]] = {}
        self._staged: Staged | None = None
        self._began, self._budget = time.monotonic(), budget_s
        if not user_configs or hints.generate:
            self._generate(hardware(), keys, derived, seed, len(user_configs))
        expands = bool(hints.lists) and bool(user_configs)
        self.configs += self._expanded(user_configs) if expands else list(user_configs)

    def instead(self, failure: Any) -> list[Any]:
        """What to try in the place of a candidate that did not fit; asked while others are compiling."""
        if self._staged is None or id(failure.candidate.config) not in self._points:
            return []
        seen = self._seen(failure)
        if seen.point.identity in self._observed:
            return []
        self._observed.add(seen.point.identity)
        self._learn(seen)
        return [self._config(point) for point in self._staged.instead(seen)]

    def hopeless(self, config: Any) -> str:
        """Why a candidate cannot fit after what failures have taught; "" if it may, or is the user's own."""
        known = self._points.get(id(config))
        return "" if known is None else self._footprint.estimate(known[1].values).overflow(self._chip)

    def more(self, outcomes: Sequence[Any]) -> list[Any]:
        """Further candidates, now that ``outcomes`` of all those before are known; empty when it is through."""
        if self._staged is None:
            return []
        seen = [self._seen(outcome) for outcome in outcomes if id(outcome.candidate.config) in self._points]
        fresh = [each for each in seen if each.point.identity not in self._observed]
        self._observed.update(each.point.identity for each in fresh)
        for each in fresh:
            if each.time is None:
                self._learn(each)
        self._staged.observe(fresh)
        return [self._config(point) for point in self._staged.propose(self._hints.limit)]

    def origin(self, config: Any) -> str:
        """Why ``config`` is tried: "tile", "rescue of ...", "option", "neighbour in ...", or "user"."""
        known = self._points.get(id(config))
        return known[1].origin if known is not None else "user"

    # Making of.

    def _generate(self, hardware: Hardware, keys: Sequence[str], derived: Sequence[str], seed: int, taken: int) -> None:
        analysis = analysed(self._function, self._given, self._hints, keys, derived)
        self.analysis = analysis
        name = self._function.__name__
        for note in analysis.notes:
            _log.info("kernel %s: %s", name, note)
        if analysis.unmapped or not analysis.tunables:
            raise CannotProposeError(_why_not(name, analysis))
        self._footprint, self._chip = Footprint(analysis.trace, hardware), hardware
        limit = max(1, self._hints.limit - taken)
        kind = self._kind(analysis)
        taken_options = {*self._given, *self._hints.lists}
        lists = self._hints.expanded({})
        sets_warps = hardware.backend == "cuda" and "num_warps" not in taken_options
        each = len(lists) * (len(variants.PER_THREAD[kind]) if sets_warps else 1)
        room = max(1, int(limit * (1.0 - KEPT_FOR_LATER)) // each)
        try:
            proposed = tiles.propose(analysis, self._footprint, hardware, self._grid_of, room)
        except ValueError as error:
            raise CannotProposeError(f"{_why_not(name, analysis)}; {error}") from None
        if not proposed.chosen:
            least = sorted(proposed.dropped, key=lambda each: sum(each[0].values()))
            reasons = "; ".join(list(dict.fromkeys(reason for _, reason in least))[:3])
            raise CannotProposeError(f"kernel {name}: no tile works: {reasons or 'there are none'}")

        def settings(values: Values) -> list[dict[str, Any]]:
            """What is tried with every tile: the listed options, and on CUDA several numbers of warps."""
            if not sets_warps:
                return lists
            warps = variants.warps_of_tile(kind, self._footprint.largest(values))
            return [{**chosen, "num_warps": count} for chosen in lists for count in warps]

        points = [Point(tile.values, chosen) for tile in proposed.chosen for chosen in settings(tile.values)]
        self.dropped = [(self._plain(values), reason) for values, reason in proposed.dropped[:SHOWN_DROPPED]]
        self._observed: set[tuple[Any, ...]] = set()
        known = options.supported() if hardware.backend == "npu" else frozenset()
        modes = options.compile_modes(hardware.arch)

        def allowed(values: Values) -> bool:
            return not tiles.unusable(analysis, self._footprint, hardware, self._grid_of, values)

        def around(point: Point) -> list[Point]:
            taken = {*taken_options, *point.options}
            if hardware.backend == "cuda":
                warps = point.options.get("num_warps") if sets_warps else None
                changes = variants.of_cuda(kind, taken, warps, self._footprint.moves_in_loops)
            else:
                need = self._footprint.estimate(point.values)
                doubles = self._footprint.moves_in_loops and need.doubled <= hardware.ub
                alone = self._footprint.unshared(point.values).overflow(hardware)
                changes = variants.of_npu(kind, {*taken, SHARING} if alone else taken, doubles, known, modes)
            return [Point(point.values, {**point.options, **change}, "option") for change in changes]

        self._staged = Staged(
            points,
            limit,
            rescue=lambda seen: rescue.rescues(seen, analysis, self._footprint, hardware, allowed, known),
            variants=around,
            local=LocalSearch(proposed.ladders, allowed, seed) if proposed.left_out else None,
            batch=BATCH if self._budget is not None else 0,
            over=self._over,
        )
        self.configs = [self._config(point) for point in self._staged.propose(limit)]

    def _learn(self, seen: Seen) -> None:
        """What a failure says of the kernel's other candidates; nothing if an option made this one larger."""
        if seen.point.options.get(SHARING, True):
            self._footprint.learn(seen.point.values, seen.reason)

    def _grid_of(self, values: Mapping[str, Any]) -> tuple[int, ...] | None:
        return self._grid({**self._given, **values})

    def _kind(self, analysis: Analysis) -> str:
        if self._hints.kind != "auto":
            return self._hints.kind
        return "mix" if analysis.is_cube else "vector"

    def _over(self) -> bool:
        return self._budget is not None and time.monotonic() - self._began > self._budget

    def _config(self, point: Point) -> Any:
        config = self._plain({**point.values, **point.options})
        self._points[id(config)] = (config, point)
        return config

    def _plain(self, settings: Mapping[str, Any]) -> Any:
        """A Config. Compile options go into its kwargs, where every Triton takes them and prints them."""
        from triton.runtime.autotuner import Config

        fields = {name: value for name, value in settings.items() if name in ("num_stages", "num_warps")}
        return Config({name: value for name, value in settings.items() if name not in fields}, **fields)

    def _seen(self, outcome: Any) -> Seen:
        from triton_ascend_tune.choose import time_of
        from triton_ascend_tune.values import Status

        point = self._points[id(outcome.candidate.config)][1]
        return Seen(point, time_of(outcome) if outcome.status is Status.TIMED else None, outcome.reason)

    def _expanded(self, user_configs: Sequence[Any]) -> list[Any]:
        """Every user config with every combination of the listed values; the config's other fields are kept."""
        return [
            presets.with_settings(config, chosen)
            for config in user_configs
            for chosen in self._hints.expanded(config.kwargs)
        ]


#: Tiles between two looks at the clock, where the time for a tuning is limited.
BATCH = 8


def _why_not(name: str, analysis: Analysis) -> str:
    said = "; ".join(map(str, analysis.notes)) or "it has no constexpr without a value that cuts an axis"
    return f"kernel {name}: candidates cannot be told from it: {said}"
