"""The tuner: the only subclass of Triton's own, which strings the stages of a tuning together.

    call -> key -> memory --hit--> launch
                     | miss
                     v
        prune -> compile -> measure -> choose -> remember -> launch

Everything about one call is a local value, because several threads may launch or tune one kernel at a time. What
programs read from the object (``best_config``, ``configs_timings``, ``bench_time``, ``cache``) is written at the end
of a tuning; ``nargs`` is there while one is under way, because stock methods that a subclass may call read it.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from triton_ascend_tune import generate, settings
from triton_ascend_tune.key import Key, stock_key, unknown_names
from triton_ascend_tune.launch import explain_missing, merge, named_arguments
from triton_ascend_tune.plan import Place, Plan
from triton_ascend_tune.stock import heuristics_below, is_default, jit_function, user_bench
from triton_ascend_tune.values import Candidate, Outcome, Protocol, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_ascend_tune.compile import Compiled
    from triton_ascend_tune.hooks import Hooks
    from triton_ascend_tune.prune import Pruned

_log = logging.getLogger("triton_ascend_tune")


@dataclass(frozen=True)
class Call:
    """One call of a tuned kernel: positional arguments, the same by name, keywords (grid and warmup included)."""

    args: tuple[Any, ...]
    named: dict[str, Any]
    keywords: dict[str, Any]


@dataclass(frozen=True)
class Tuning:
    """What a tuning found out.

    ``verdict`` is None, and ``timings`` are stored ones, after a hit in Triton's disk cache. ``simulated``: whether it
    was measured on the simulated CANN; None if a user's timer measured.
    """

    winner: Any
    timings: dict[Any, Any]
    seconds: float = 0.0
    verdict: Verdict | None = None
    simulated: bool | None = None


class Tuner:
    """What our subclass of a stock tuner class does differently; ``make_tuner_class`` puts the two together.

    These are the members of that subclass, not a base of it: an instance that the stock constructor has begun to make
    can only be turned into one of a class that inherits from nothing but its own.
    """

    #: The class that is subclassed, for everything that is left to it.
    stock: ClassVar[Any]
    #: Whether that class proposes candidates itself; see ``generate``.
    generates: ClassVar[bool]

    # Made by the stock constructor.
    fn: Any
    base_fn: Any
    arg_names: Sequence[str]
    keys: Any
    configs: list[Any]
    cache: dict[Key, Any]
    pre_hook: Any
    post_hook: Any
    reset_to_zero: list[str]
    restore_value: list[str]
    early_config_prune: Any
    perf_model: Any
    configs_top_k: Any
    num_warmups: float | None
    num_reps: float | None
    prune_configs: Any

    # Made by a launch.
    nargs: dict[str, Any] | None
    best_config: Any
    configs_timings: dict[Any, Any]
    bench_time: float
    #: Every candidate of the last tuning with its time or the reason it has none.
    verdict: Verdict | None = None

    _do_bench: Any
    _plan: Plan | None = None

    @functools.cached_property
    def do_bench(self) -> Callable[..., Any]:
        """The user's timer, or Triton's default one, which is first asked for here: decorating needs no device."""
        from triton.runtime.driver import driver

        given: Callable[..., Any] | None = self.__dict__.get("_do_bench")
        return given if given is not None else driver.active.get_benchmarker()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Launches the kernel with the config chosen for these arguments, after choosing it if need be.

        Returns what the kernel's launch returns. Is the stock ``run`` on targets that this package does not act on.
        """
        plan = self._plan
        if plan is None or plan.keys is not self.keys:
            plan = self._plan = Plan(self.keys, self.base_fn, self.arg_names, self.fn)
        place = plan.place()
        if place is None:
            return self.stock.run(self, *args, **kwargs)
        if len(self.configs) == 1 and not self.generates:
            config = self.configs[0]
            self.nargs = None
        else:
            key = plan.key(place.label, *args, **kwargs)
            try:
                config = self.cache.get(key)
            except TypeError:  # something in the key cannot be hashed
                key = plan.hashable(key)
                config = self.cache.get(key)
            if config is None:
                config = self._tune(Call(args, named_arguments(self.arg_names, args), kwargs), key, plan, place)
        self.best_config = config
        keywords = merge(kwargs, config.all_kwargs(), self.arg_names)
        if config.pre_hook is not None:
            config.pre_hook({**named_arguments(self.arg_names, args), **keywords})
        return self._launch(args, keywords)

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compiles what pruning leaves for these arguments, without launching or choosing; arguments may be dtypes."""
        from triton_ascend_tune.compile import warmup

        call = Call(args, named_arguments(self.arg_names, args), kwargs)
        self.nargs = call.named
        try:
            survivors = self._prune(self.configs, call).survivors
            return [warmup(self.fn, args, merge(kwargs, config.all_kwargs(), self.arg_names)) for config in survivors]
        finally:
            self.nargs = None

    def _tune(self, call: Call, key: Key, plan: Plan, place: Place) -> Any:
        """Chooses a config for ``call`` and remembers it under ``key``. Nothing is remembered if this raises."""
        from triton_ascend_tune.measure import capture

        self.nargs = call.named
        try:
            if self.generates:
                self.configs = generate.propose(self, call.named, call.keywords)
            pruned = self._prune(self.configs, call)
            if len(pruned.survivors) == 1:
                self.cache[key] = pruned.survivors[0]
                return pruned.survivors[0]
            if capture.in_progress(place.target.partition(":")[0]):
                return self._while_capturing()
            tuning = self._contest_or_stored(pruned, call, key, place)
            self.configs_timings = tuning.timings
            if tuning.verdict is not None:
                self.bench_time = tuning.seconds
            self.verdict = tuning.verdict
            self.cache[key] = self.best_config = tuning.winner
            self._tell(tuning, call, place)
            if tuning.verdict is not None and getattr(self, "auto_profile_dir", None) is not None:
                self._profile(*call.args, config=tuning.winner, **call.keywords)  # type: ignore[attr-defined]
            return tuning.winner
        finally:
            self.nargs = None

    def _prune(self, configs: Sequence[Any], call: Call) -> Pruned:
        from triton_ascend_tune.prune import Pruned, Rules, prune

        if getattr(self.prune_configs, "__func__", None) is not self.stock.prune_configs:
            return Pruned(list(self.prune_configs(call.keywords)), [])  # overridden by a library's subclass
        rules = Rules(self.early_config_prune, self.perf_model, self.configs_top_k)
        return prune(configs, rules, call.named, call.keywords, self.arg_names)

    def _contest_or_stored(self, pruned: Pruned, call: Call, key: Key, place: Place) -> Tuning:
        """A contest between the survivors, unless Triton's disk cache is on and has its result."""
        from triton_ascend_tune import disk

        if not disk.enabled(self):
            return self._contest(pruned, call)
        tuning: Tuning | None = None

        def benchmark() -> None:
            nonlocal tuning
            tuning = self._contest(pruned, call)
            self.configs_timings = tuning.timings  # what Triton's method writes

        method = None if user_bench(self) is not None else self._protocol()
        stored_key = disk.disk_key(key, place.label, place.target, method)
        winner = disk.stored_or(self, stored_key, pruned.survivors, benchmark)
        return tuning if tuning is not None else Tuning(winner, self.configs_timings)

    def _contest(self, pruned: Pruned, call: Call) -> Tuning:
        """Compiles and measures the survivors and chooses among them; runs the hooks that belong to a tuning."""
        from triton_ascend_tune import choose, prune, trials

        start = time.perf_counter()
        protocol = self._protocol()
        hooks = self._hooks()
        place_of = {id(config): index for index, config in reversed(list(enumerate(self.configs)))}
        extra = len(place_of)

        def candidate(config: Any) -> Candidate:
            return Candidate(place_of.get(id(config), extra), config, config.all_kwargs())

        def entry(candidate: Candidate) -> trials.Entry:
            keywords = merge(call.keywords, candidate.kwargs, self.arg_names)
            run = functools.partial(self._launch, call.args, keywords)
            return trials.Entry(candidate, run, {**call.named, **keywords}, hooks)

        compiled = self._compile([candidate(config) for config in pruned.survivors], call, hooks)
        ready = [each.candidate for each in compiled if each.error is None]
        do_bench = user_bench(self)
        device = self.open_device() if ready and do_bench is None else None
        entries = [entry(each) for each in ready]
        measured = trials.measure_candidates(entries, protocol, device, self.measurer, do_bench)
        outcomes = iter(measured.outcomes)
        contest = [trials.failed(each) if each.error is not None else next(outcomes) for each in compiled]
        self._tell_candidates(contest)
        kernel = self.base_fn.__name__
        verdict = choose.choose(contest, protocol, kernel, prune.as_outcomes(pruned, candidate), measured.choice)
        hooks.reset({**call.named, **merge(call.keywords, verdict.winner.candidate.kwargs, self.arg_names)})
        return Tuning(
            winner=verdict.winner.candidate.config,
            timings=trials.timings_of(contest),
            seconds=time.perf_counter() - start,
            verdict=_without_errors(verdict),
            simulated=getattr(device, "simulated", None),
        )

    def _compile(self, candidates: Sequence[Candidate], call: Call, hooks: Hooks) -> list[Compiled]:
        """Compiles ahead what can be. Hooks that may change the arguments must run first, so those compile later."""
        from triton_ascend_tune.compile import compile_candidates, compiles_ahead

        ahead = compiles_ahead(self.fn) and not hooks.change_arguments

        def compile_one(candidate: Candidate) -> Any:
            if not ahead or candidate.config.pre_hook is not None:
                return None
            keywords = merge({**call.keywords, "warmup": True}, candidate.kwargs, self.arg_names)
            return self._launch(call.args, keywords)

        return compile_candidates(candidates, compile_one)

    @staticmethod
    def open_device() -> Any:
        """The device that ``measurer`` measures on."""
        from triton_ascend_tune.measure.device import active_device

        return active_device()

    @staticmethod
    def measurer(trials: Sequence[Any], protocol: Protocol, device: Any, tolerated: Any) -> Any:
        """The measuring engine; tests put another one here."""
        from triton_ascend_tune.measure.event import measure

        return measure(trials, protocol, device, tolerated)

    def _protocol(self) -> Protocol:
        """How times are taken now. The deprecated arguments ``warmup`` and ``rep`` bound the engine's loop."""
        from triton_ascend_tune.measure.protocol import with_options

        protocol = Protocol(method=settings.method_in_force(settings.current()))
        protocol = with_options(protocol, settings.protocol_options())
        if self.num_warmups is not None:
            protocol = replace(protocol, warmup_ms=float(self.num_warmups))
        if self.num_reps is not None:
            protocol = replace(protocol, repeat_ms=float(self.num_reps))
        return with_options(protocol, self._options())

    def _options(self) -> dict[str, Any]:
        """What the program asked for by ``triton_ascend_tune.options``."""
        from triton_ascend_tune import program_options

        return {**program_options.current(), **program_options.attached(self)}

    def _while_capturing(self) -> Any:
        """The config to launch with where nothing can be measured; CaptureError if none was named."""
        from triton_ascend_tune.measure.capture import CaptureError
        from triton_ascend_tune.program_options import FALLBACK

        fallback = self._options().get(FALLBACK)
        if fallback is None:
            raise CaptureError(
                f"kernel {self.base_fn.__name__} has no config for these arguments yet, and none can be chosen while "
                "the current stream is being captured. Launch it once with such arguments before the capture, or name "
                "a config: triton_ascend_tune.options(fallback=triton.Config(...))"
            )
        return fallback

    def _hooks(self) -> Hooks:
        from triton_ascend_tune.hooks import Hooks

        return Hooks(
            None if is_default(self.pre_hook) else self.pre_hook,
            None if is_default(self.post_hook) else self.post_hook,
            self.reset_to_zero,
            self.restore_value,
            self.arg_names,
        )

    def _launch(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        try:
            kernel = self.fn.run(*args, **keywords)
            # Under the caller's AsyncCompileMode (Triton 3.5 and newer) a promise, whose failures show only now.
            return kernel.result() if type(kernel).__name__ == "FutureKernel" else kernel
        except TypeError as error:
            required = self._plan.required() if self._plan is not None else ()
            given = {*named_arguments(self.arg_names, args), *keywords, *heuristics_below(self.fn)}
            explained = explain_missing(error, self.base_fn.__name__, required, given)
            if explained is error:
                raise
            raise explained from error

    def _tell_candidates(self, contest: Sequence[Outcome]) -> None:
        if settings.print_autotuning():
            from triton_ascend_tune.report import StockLines

            StockLines(self.stock).candidates(self.base_fn.__name__, contest)

    def _tell(self, tuning: Tuning, call: Call, place: Place) -> None:
        """Log, report, stock Triton's listener and its printed lines."""
        from triton_ascend_tune import report

        kernel, verdict = self.base_fn.__name__, tuning.verdict
        key = stock_key(self.arg_names, self._plan.names if self._plan else (), call.args, call.keywords)
        if verdict is not None and (settings.report() or _log.isEnabledFor(logging.INFO)):
            text = report.describe(verdict, kernel, tuning.seconds, report.where(place.target, tuning.simulated))
            _log.info("%s", text)
            if settings.report():
                print(text, flush=True)
        knobs = sys.modules.get("triton.knobs")
        listener = getattr(getattr(knobs, "autotuning", None), "listener", None)
        if listener is not None:
            listener(
                fn=jit_function(self.fn),
                key=key,
                best_config=tuning.winner,
                configs_timings=tuning.timings,
                duration=tuning.seconds if verdict is not None else None,
                cache_hit=verdict is None,
            )
        if verdict is not None and settings.print_autotuning():
            report.StockLines(self.stock).finished(kernel, key, tuning.seconds, tuning.winner)


def make_tuner_class(base: type) -> type:
    """Our subclass of ``base``, the installed Triton's ``Autotuner`` or a subclass of it; one for each, always the
    same.

    Its constructor has the signature of ``base``'s. It may be assigned to ``__class__`` of an instance of ``base``.
    """
    if base not in _classes:
        _classes[base] = _make_tuner_class(base)
    return _classes[base]


_classes: dict[type, type] = {}


def _make_tuner_class(base: Any) -> type:
    constructor = base.__init__
    signature = inspect.signature(constructor)
    #: Before Triton 3.5 the constructor asks the driver for its timer, so that decorating would need a device.
    asks_driver = not hasattr(base, "do_bench")

    @functools.wraps(constructor)
    def __init__(self: Tuner, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *args, **kwargs)
        given = bound.arguments.get("do_bench")
        if asks_driver and given is None:
            bound.arguments["do_bench"] = _ask_later
        constructor(*bound.args, **bound.kwargs)
        if asks_driver:
            if self.__dict__.get("do_bench") is _ask_later:
                del self.__dict__["do_bench"]
            self._do_bench = self.__dict__.get("do_bench")
        names = self.keys.values() if isinstance(self.keys, dict) else self.keys or ()
        if unknown := unknown_names(names, self.arg_names):
            _log.warning(
                "kernel %s: `key` contains names that are not kernel arguments: %s; ignored. Its arguments are: %s",
                self.base_fn.__name__,
                ", ".join(unknown),
                ", ".join(self.arg_names),
            )

    return type(
        base.__name__,
        (base,),
        {
            **{name: member for name, member in vars(Tuner).items() if not name.startswith("__")},
            "__init__": __init__,
            "__doc__": base.__doc__,
            "__module__": __name__,
            "stock": base,
            "generates": generate.generates(base),
        },
    )


def _ask_later(*_: Any, **__: Any) -> Any:
    """Placeholder for the driver's timer; never called."""


def _without_errors(verdict: Verdict) -> Verdict:
    """``verdict`` without exceptions, whose tracebacks would keep the frames of the tuning alive with its tensors."""
    cleared = {id(outcome): replace(outcome, error=None) for outcome in verdict.outcomes}
    choice = verdict.choice
    if choice is not None:
        ties = tuple(cleared[id(outcome)] for outcome in choice.ties)
        choice = replace(choice, winner=cleared[id(choice.winner)], ties=ties)
    outcomes = [cleared[id(outcome)] for outcome in verdict.outcomes]
    return replace(verdict, winner=cleared[id(verdict.winner)], outcomes=outcomes, choice=choice)
