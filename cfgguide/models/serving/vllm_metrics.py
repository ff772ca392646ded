"""Numbers of the plug-in among those of vLLM, at `/metrics`.

In: what backends have done. Out: counters and gauges of `prometheus_client`, which vLLM's exporter
shows with its own. The front end, where each request is compiled first, counts ::

    cfgguide_compiled_total           requests whose grammar was compiled
    cfgguide_hits_total               requests whose grammar was there
    cfgguide_refused_total            requests with an error of ours
    cfgguide_busy_total               requests that were told to come again
    cfgguide_referred_total           structural tags that vLLM's own backend got
    cfgguide_compile_seconds          a histogram: of each grammar that was compiled or refused

and the engine, where masks are made, whenever a request comes ::

    cfgguide_first_visits_total         masks that were made for the first time
    cfgguide_first_visit_seconds_total  seconds of that
    cfgguide_first_mask_seconds         a histogram: of the first mask of each request
    cfgguide_slowest_step_seconds       a histogram: of the slowest step of each request

A label for each grammar would have no bound: the log has slow ones, with a digest. Both show what
they hold, as gauges, and what waits ::

    cfgguide_bytes            indexes and the texts of requests
    cfgguide_shared_bytes     the vocabulary, and what all indexes share that is known of it
    cfgguide_waiting          grammars that wait to be compiled
    cfgguide_waiting_long     those of them that take long
    cfgguide_waiting_clients  whose they are
    cfgguide_compiling        grammars that are compiled now

The engine is a process of its own. vLLM shows its registry where `PROMETHEUS_MULTIPROC_DIR` is
set: by vLLM if there are several API servers, else by the operator.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Counter, Gauge, Histogram

from cfgguide.base.locks import new_lock
from cfgguide.models.serving.backend import MEASURED, Metrics

#: What the front end counts, and what the engine does, by attributes of :class:`Metrics`.
FRONT_END = {
    "n_compiled": Counter("cfgguide_compiled", "Requests whose grammar was compiled."),
    "n_hits": Counter("cfgguide_hits", "Requests whose grammar was there."),
    "n_refused": Counter("cfgguide_refused", "Requests with an error of cfgguide's."),
    "n_busy": Counter("cfgguide_busy", "Requests that were told to come again."),
}
ENGINE = {
    "n_first_visits": Counter("cfgguide_first_visits", "Masks made for the first time."),
    "first_visit_seconds": Counter("cfgguide_first_visit_seconds", "Seconds of first visits."),
}
#: What either of them holds: with several processes, their sum.
HELD = {
    name: Gauge(f"cfgguide{name[1:]}", what, multiprocess_mode="livesum")
    for name, what in (
        ("n_waiting", "Grammars that wait to be compiled."),
        ("n_waiting_long", "Grammars that wait, and take long."),
        ("n_waiting_clients", "Clients whose grammars wait."),
        ("n_compiling", "Grammars that are compiled now."),
        ("n_bytes", "Bytes of indexes and of the texts of requests."),
        ("n_shared_bytes", "Bytes of the vocabulary, and of what all indexes share."),
    )
}
_STEPS = (0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_COMPILING = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 60.0)
#: By what of a request is measured; the first is of the front end, the others of the engine.
HISTOGRAMS = {
    name: Histogram(f"cfgguide_{name}", what, buckets=buckets)
    for name, what, buckets in zip(
        MEASURED,
        (
            "Seconds in which a grammar was compiled or refused.",
            "Seconds of the first mask of a request.",
            "Seconds of the slowest step of a request.",
        ),
        (_COMPILING, _STEPS, _STEPS),
        strict=True,
    )
}
REFERRED = Counter("cfgguide_referred", "Structural tags that vLLM's own backend got.")


def observe(name: str, seconds: float, *, in_engine: bool) -> None:
    """Add to a histogram; the engine compiles again what the front end has counted."""
    if not (in_engine and name == MEASURED[0]):
        HISTOGRAMS[name].observe(seconds)


class Exported:
    """Adds what backends have done since the last time to counters, and sets gauges; thread-safe.

    Parameters
    ----------
    counters : dict
        :data:`FRONT_END` or :data:`ENGINE`.
    """

    def __init__(self, counters: dict[str, Counter]) -> None:
        self._counters = counters
        self._lock = new_lock()
        self._shown = dict.fromkeys(counters, 0.0)

    def show(self, backends: Iterable[Metrics]) -> None:
        """Bring the counters to the sums of some metrics, which never fall, and the gauges."""
        found = list(backends)
        with self._lock:
            for name, counter in self._counters.items():
                total = float(sum(getattr(each, name) for each in found))
                counter.inc(max(0.0, total - self._shown[name]))
                self._shown[name] = max(total, self._shown[name])
            for name, gauge in HELD.items():
                gauge.set(sum(getattr(each, name) for each in found))
