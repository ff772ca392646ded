"""Numbers of the plug-in among those of vLLM, at `/metrics`.

In: what the backends of the front end have done. Out: counters of `prometheus_client`, which vLLM's
exporter shows with its own. ::

    cfgguide_compiled_total           requests whose grammar was compiled
    cfgguide_hits_total               requests whose grammar was there
    cfgguide_refused_total            requests with an error of ours
    cfgguide_referred_total           structural tags that vLLM's own backend got
    cfgguide_compile_seconds_total    seconds in which grammars were compiled or refused

They are those of the front end, where each request is compiled first. The engine is a process of
its own, whose registry vLLM does not show: how often a mask is made there for the first time is not
among them.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Counter

from cfgguide.locks import new_lock
from cfgguide.serving.backend import Metrics

_COUNTERS = {
    "n_compiled": Counter("cfgguide_compiled", "Requests whose grammar was compiled."),
    "n_hits": Counter("cfgguide_hits", "Requests whose grammar was there."),
    "n_refused": Counter("cfgguide_refused", "Requests with an error of cfgguide's."),
    "seconds": Counter("cfgguide_compile_seconds", "Seconds of compiling and refusing."),
}
_REFERRED = Counter("cfgguide_referred", "Structural tags that vLLM's own backend got.")


class Exported:
    """Adds what backends have done since the last time to the counters; thread-safe."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._shown = dict.fromkeys(_COUNTERS, 0.0)

    def show(self, backends: Iterable[Metrics]) -> None:
        """Bring the counters to the sums of some metrics, which never fall."""
        found = list(backends)
        with self._lock:
            for name, counter in _COUNTERS.items():
                total = float(sum(getattr(each, name) for each in found))
                counter.inc(max(0.0, total - self._shown[name]))
                self._shown[name] = max(total, self._shown[name])

    def refer(self) -> None:
        """Count a request that vLLM's own backend got."""
        _REFERRED.inc()
