"""Words of what packets drawn at random say of all packets: how many are biased, and by what."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab.api.causes import BIASED_NS
from delaylab_study.analysis.causes.drawn import FEWEST_CLEAN, BiasReason, SampleBias
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.quantiles import Quantile
from delaylab_study.charts import words

LIMIT = f"{BIASED_NS // 1000} µs"


def sentences(found: SampleBias) -> Iterator[str]:
    """Yield what the drawn packets say."""
    # What is unknown may be biased, too.
    at_least_so = "At least " if found.unknown.value else ""
    yield (
        f"{at_least_so}{share(found.biased)} of {found.drawn} packets drawn at random are biased: "
        f"the lab's machines took {LIMIT} or more of their time."
    )
    if found.reasons:
        reasons = "; ".join(
            f"{each.cause.value} ({counted(each.packets)}, at least {at_least(each)} in the median)"
            for each in found.reasons
        )
        yield f"Reasons: {reasons}."
    if found.unknown.value:
        yield (
            f"{share(found.unknown)} are unknown: it is not known what they waited for during "
            f"{LIMIT} or more."
        )
    everything = f"{median(found.raw.median)} over all {found.raw.n} answered under load"
    if found.clean_median.value is None:
        yield f"A clean median needs {FEWEST_CLEAN} clean packets, and there are {found.clean}."
        yield f"The median user RTT is {everything}."
    else:
        clean = f"{median(found.clean_median)} over the {found.clean} clean packets"
        yield f"The median user RTT is {clean}, and {everything}."


def counted(packets: int) -> str:
    """Return a number of packets in words."""
    return "1 packet" if packets == 1 else f"{packets} packets"


def at_least(reason: BiasReason) -> str:
    """Return at least how much a reason took of the packets that it biased, in the median."""
    return words.delay(reason.median_ns / 1000)


def share(found: Effect) -> str:
    """Return a share with its interval."""
    return words.with_interval(found.value, found.interval, "share")


def median(found: Quantile) -> str:
    """Return a median with its interval, if it has one."""
    if found.interval is None:
        return words.delay(found.value)
    return words.with_interval(found.value, found.interval, "µs", is_difference=False)
