"""The tuner: the only subclass of Triton's own, which strings the stages of a tuning together.

    call -> hit? -> launch                                                 (native; see ``dispatch``)
             | not one
             v
            key -> memory --known--> launch, a hit from now on
                     | miss
                     v
        prune -> compile -> measure -> choose -> remember -> launch

Everything about one call is a local value, because several threads may launch or tune one kernel at a time. What
programs read from the object (``best_config``, ``configs_timings``, ``bench_time``, ``cache``) is written at the end
of a tuning; ``nargs`` is there while one is under way, because stock methods that a subclass may call read it.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from triton_ascend_tune import dispatch, generate, settings
from triton_ascend_tune.key import Key, stock_key, unknown_names
from triton_ascend_tune.key_mapping import ATTRIBUTE as MAPS
from triton_ascend_tune.launch import Call, merge, named_arguments
from triton_ascend_tune.plan import Place, Plan
from triton_ascend_tune.stock import is_default, resets_a_lone_survivor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from triton_ascend_tune.hooks import Hooks
    from triton_ascend_tune.prune import Pruned
    from triton_ascend_tune.stages import Stages
    from triton_ascend_tune.values import Protocol, Verdict

_log = logging.getLogger("triton_ascend_tune")


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
    auto_profile_dir: Any  # of triton-ascend

    # Made by a launch.
    nargs: dict[str, Any] | None
    best_config: Any
    configs_timings: dict[Any, Any]
    bench_time: float
    #: Every candidate of the last tuning with its time or the reason it has none.
    verdict: Verdict | None = None

    _do_bench: Any
    _plan: Plan | None = None
    #: What is left to us to propose.
    _request: generate.Request | None = None
    #: What we put into ``configs`` last.
    _proposed: list[Any] | None = None
    #: Tunings in which something was measured.
    _tunings: int = 0

    @functools.cached_property
    def do_bench(self) -> Callable[..., Any]:
        """The user's timer, or Triton's default one, which is first asked for here: decorating needs no device."""
        from triton.runtime.driver import driver

        given: Callable[..., Any] | None = self.__dict__.get("_do_bench")
        return given if given is not None else driver.active.get_benchmarker()

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """``tuner[grid](...)`` launches over ``grid``, as in stock Triton."""
        plan = self._plan
        if plan is None or plan.hits is None:
            return self.stock.__getitem__(self, grid)  # type: ignore[no-any-return]
        return plan.hits.launcher(self, grid)  # type: ignore[no-any-return]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Launches the kernel with the config chosen for these arguments, after choosing it if need be.

        Returns what the kernel's launch returns. Is the stock ``run`` on targets that this package does not act on.
        """
        plan = self._plan
        if plan is None or plan.hits is None:
            return self._general(*args, **kwargs)
        return plan.hits(self, *args, **kwargs)

    def _general(self, *args: Any, **kwargs: Any) -> Any:
        """``run`` for a call that is no hit. It is one afterwards, if ``dispatch`` can make it one."""
        plan = self._plan
        if plan is None or plan.keys is not self.keys:
            plan = self._prepare(args, kwargs)
        place = plan.place()
        if place is None:
            return self.stock.run(self, *args, **kwargs)
        request, rule, key = self._request, dispatch.ANY, ()
        if request is None or not request.asks(args, kwargs):
            if request is not None and self.configs is self._proposed:
                self.configs = request.stock_configs  # this call leaves nothing open to propose
            rule = dispatch.LONE if len(self.configs) == 1 else dispatch.SEVERAL
        if rule == dispatch.LONE:
            config = self.configs[0]
            self.nargs = None
        else:
            config, key = self._winner(args, kwargs, plan, place)
        self.best_config = config
        keywords = merge(kwargs, config.all_kwargs(), self.arg_names)
        if config.pre_hook is not None:
            config.pre_hook({**named_arguments(self.arg_names, args), **keywords})
        kernel = self._launch(args, keywords)
        dispatch.learn(self, plan, place, (args, kwargs), key, config, rule)
        return kernel

    def _winner(self, args: tuple[Any, ...], kwargs: dict[str, Any], plan: Plan, place: Place) -> tuple[Any, Key]:
        """The config for a call, chosen now if it is not known, and the call's key."""
        try:
            key = plan.key(place.label, *args, **kwargs)
        except TypeError:
            plan.refuse_surplus(args)
            raise
        try:
            config = self.cache.get(key)
        except TypeError:  # something in the key cannot be hashed
            key = plan.hashable(key)
            config = self.cache.get(key)
        if config is None:
            brought = stock_key(self.arg_names, plan.given_names, args, kwargs)
            config = self._brought_along(brought)
            if config is not None:
                key = brought
        if config is None:
            config = self._tune_once(Call(args, named_arguments(self.arg_names, args), kwargs), key, plan, place)
        elif plan.recency is not None:
            plan.recency.touch(key)
        return config, key

    def _brought_along(self, key: Key) -> Any:
        """The config that the program itself has put into ``cache`` under stock Triton's key; None if it has not."""
        try:
            return self.cache.get(key)
        except TypeError:  # something in the key cannot be hashed
            return None

    def _prepare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        """The plan for this and later calls, and what is left to us to propose."""
        maps = self.__dict__.get(MAPS)
        plan = Plan(self.keys, self.base_fn, self.arg_names, self.fn, maps)
        if plan.place() is not None:
            if unknown := unknown_names(plan.names, self.arg_names):
                # Not when decorated: nobody wants to read it of all kernels of a library that he imports.
                _log.warning(
                    "kernel %s: `key` contains names that are not kernel arguments: %s; ignored. Its arguments are: %s",
                    plan.kernel,
                    ", ".join(unknown),
                    ", ".join(self.arg_names),
                )
            request = self._request = generate.request_of(self)
            if request is not None:
                request.find_lengths(named_arguments(self.arg_names, args), kwargs)
                # Near lengths share no choice where a tile for one would leave a part of another out.
                maps = {name: rule for name, rule in (maps or {}).items() if name not in request.exact}
                plan = Plan(self.keys, self.base_fn, self.arg_names, self.fn, maps, request.lengths)
        self._plan = plan
        return plan

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compiles what pruning leaves for these arguments, without launching or choosing; arguments may be dtypes."""
        from triton_ascend_tune.compile import warmup
        from triton_ascend_tune.stages import Stages

        call = Call(args, named_arguments(self.arg_names, args), kwargs)
        self.nargs = call.named
        if self._plan is None:
            self._prepare(args, kwargs)
        try:
            survivors = self._propose(call, Stages(self.base_fn.__name__)).survivors
            return [warmup(self.fn, args, merge(kwargs, config.all_kwargs(), self.arg_names)) for config in survivors]
        finally:
            self.nargs = None

    def _tune_once(self, call: Call, key: Key, plan: Plan, place: Place) -> Any:
        """The config for ``call``, chosen by this thread or by another one that is at it already."""
        from triton_ascend_tune import flights

        def meanwhile() -> Any:
            from triton_ascend_tune.stages import Stages
            from triton_ascend_tune.tuning import first_that_works

            return first_that_works(self, self._propose(call, Stages(plan.kernel)).survivors, call)

        return flights.once(
            self,
            key,
            tune=lambda: self._tune(call, key, plan, place),
            found=lambda: self.cache.get(key),
            meanwhile=meanwhile if settings.busy() == settings.FIRST else None,
        )

    def _tune(self, call: Call, key: Key, plan: Plan, place: Place) -> Any:
        """Chooses a config for ``call`` and remembers it under ``key``. Nothing is remembered if this raises."""
        from triton_ascend_tune import program_options, telling, untuned, winners
        from triton_ascend_tune.measure import capture
        from triton_ascend_tune.stages import stages_of
        from triton_ascend_tune.tuning import tune

        self.nargs = call.named
        try:
            with stages_of(plan.kernel) as stages:
                if settings.report() or _log.isEnabledFor(logging.DEBUG):
                    with stages.of("key"):  # built once more, to be timed
                        plan.key(place.label, *call.args, **call.keywords)
                pruned = self._propose(call, stages)
                if len(pruned.survivors) == 1:
                    return self._take_lone(pruned.survivors[0], call, key, plan)
                if capture.in_progress(place.backend):
                    return program_options.fallback(self)
                if not program_options.measures(self):
                    config = untuned.config(self, pruned, call, key, plan, place, stages)
                    winners.remember(self, plan, key, config)
                    return config
                tuning = tune(self, pruned, call, key, plan, place, stages)
            self.configs_timings = tuning.timings
            if not tuning.cache_hit:
                self.bench_time = tuning.seconds
                self._tunings += 1
            self.verdict = tuning.verdict
            self.best_config = tuning.winner
            winners.remember(self, plan, key, tuning.winner)
            telling.tell(self, tuning, call, plan, place, stages)
            return tuning.winner
        finally:
            self.nargs = None

    def _take_lone(self, config: Any, call: Call, key: Key, plan: Plan) -> Any:
        """Remembers the only config that pruning left, without measuring it."""
        from triton_ascend_tune import winners

        if resets_a_lone_survivor():
            keywords = merge(call.keywords, config.all_kwargs(), self.arg_names)
            self._hooks().reset({**call.named, **keywords})
        winners.remember(self, plan, key, config)
        return config

    def _propose(self, call: Call, stages: Stages) -> Pruned:
        """The candidates for ``call``: the user's, or generated ones, without those that pruning drops."""
        request = self._request
        if request is None or not request.asks(call.args, call.keywords) or self._plan is None:
            with stages.of("prune"):
                return self._prune(self.configs, call)
        with stages.of("propose"):
            proposal = request.propose(call, self._plan)
        self.configs = self._proposed = proposal.configs if proposal is not None else request.stock_configs
        with stages.of("prune"):
            pruned = self._prune(self.configs, call)
        if proposal is None:
            return pruned
        # Who prunes knows better than the rounds which of his candidates are worth anything.
        prunes = self.early_config_prune is not None or self.perf_model is not None
        dropped = [*pruned.dropped, *proposal.dropped]
        return replace(pruned, dropped=dropped, proposal=None if prunes else proposal)

    def _prune(self, configs: Sequence[Any], call: Call) -> Pruned:
        from triton_ascend_tune.prune import Pruned, Rules, prune

        if getattr(self.prune_configs, "__func__", None) is not self.stock.prune_configs:
            return Pruned(list(self.prune_configs(call.keywords)), [])  # overridden by a library's subclass
        rules = Rules(self.early_config_prune, self.perf_model, self.configs_top_k)
        return prune(configs, rules, call.named, call.keywords, self.arg_names)

    @staticmethod
    def open_device() -> Any:
        """The device that ``measurer`` measures on."""
        from triton_ascend_tune.measure.device import active_device

        return active_device()

    @staticmethod
    def measurer(trials: Any, protocol: Protocol, device: Any, tolerated: Any, checkpoints: Any = None) -> Any:
        """The measuring engine; tests put another one here."""
        from triton_ascend_tune.measure.event import measure

        return measure(trials, protocol, device, tolerated, checkpoints)

    def _measurer_of(self, protocol: Protocol, entries: Sequence[Any]) -> Any:
        """The engine of the method that ``protocol`` names, for these entries of a contest."""
        if protocol.method == settings.EVENT:
            return self.measurer
        from triton_ascend_tune.measure.profiled import ProfilerMethod

        def names() -> list[Any]:
            return [entry.kernel_name for entry in entries]

        return ProfilerMethod(self.measurer, self.open_profiler, names, self.base_fn.__name__).measure

    @staticmethod
    def open_profiler() -> Any:
        """The profiler of the device; tests put another one here."""
        from triton_ascend_tune.measure.bench_npu import active_profiler

        return active_profiler()

    def _protocol(self) -> Protocol:
        """How times are taken now. The deprecated arguments ``warmup`` and ``rep`` bound the engine's loop."""
        from triton_ascend_tune import program_options
        from triton_ascend_tune.measure.protocol import with_options
        from triton_ascend_tune.values import Protocol

        protocol = Protocol(method=settings.method())
        protocol = with_options(protocol, settings.protocol_options())
        if self.num_warmups is not None:
            protocol = replace(protocol, warmup_ms=float(self.num_warmups))
        if self.num_reps is not None:
            protocol = replace(protocol, repeat_ms=float(self.num_reps))
        return with_options(protocol, program_options.of(self))

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
        kernel = self._run(args, keywords)
        # Under the caller's AsyncCompileMode (Triton 3.5 and newer) a promise, whose failures show only now.
        return kernel.result() if type(kernel).__name__ == "FutureKernel" else kernel

    def _run(self, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        try:
            return self.fn.run(*args, **keywords)
        except (TypeError, KeyError) as error:
            from triton_ascend_tune import unbound

            told = unbound.explained(error, self, args, keywords)
            if told is error:
                raise
            raise told from error
