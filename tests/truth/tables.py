"""Tables of docs/truth.md, from what the runs found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from delaylab.machines.description import cpu_name
from tests.truth.blind import LEAST_NS, MOST_NS
from tests.truth.cases import SCENES, name_of
from tests.truth.judging import SIZES_NS, Judged, quantile_us
from tests.truth.losses import LOSSES, LossJudged
from tests.truth.page import share, wrapped


@dataclass
class Found:
    """The packets of all runs, by scene and by cause of loss."""

    injections: int
    runs: int = 0
    late: Sequence[Judged] = field(default_factory=lambda: [Judged() for _ in SCENES])
    lost: Sequence[LossJudged] = field(default_factory=lambda: [LossJudged() for _ in LOSSES])

    def tables(self) -> Iterator[str]:
        """Yield the lines of all tables."""
        for table in (self._late(), self._instead(), self._sizes(), self._lost()):
            yield from table
            yield ""
        yield f"*{date.today().isoformat()}, {cpu_name()}*"

    def _late(self) -> Iterator[str]:
        least, most = LEAST_NS / 1e6, MOST_NS / 1e6
        yield wrapped(
            f"{self.runs} blind runs of each cause with {self.injections} injections each, of "
            f"{least:g} to {most:g} ms; changes of links are a quarter of that, and ten times as "
            "long. *Late*: packets that it made late by 0.5 ms or more, by the injector's own log. "
            "*Size right*: within 20 µs or 10 %. *Blamed*: packets without it, late or not, of "
            "which it is said to have taken 0.1 ms or more."
        )
        yield ""
        yield (
            "| injected | late | named right | size right | size off by, µs: median, p90 | blamed |"
        )
        yield "|---|---|---|---|---|---|"
        for cases, each in zip(SCENES, self.late, strict=True):
            off = f"{quantile_us(each.errors_ns, 0.5):.0f}, {quantile_us(each.errors_ns, 0.9):.0f}"
            blamed = f"{each.blamed} of {each.others + each.quiet}"
            right, size = share(each.right, each.late), share(each.within, each.late)
            yield f"| {name_of(cases)} | {each.late} | {right} | {size} | {off} | {blamed} |"
        yield ""
        late, right = (sum(getattr(each, of) for each in self.late) for of in ("late", "right"))
        whole = sum(each.excess_ns for each in self.late)
        unknown = sum(each.unknown_ns for each in self.late)
        yield wrapped(
            f"Of all {late} late packets {share(right, late)} are named right. Unknown is "
            f"{share(unknown, whole)} of their excess."
        )

    def _instead(self) -> Iterator[str]:
        yield "What was named instead:"
        yield ""
        yield "| injected | named | packets |"
        yield "|---|---|---|"
        for cases, each in zip(SCENES, self.late, strict=True):
            for name, count in each.named.most_common():
                if name != "right":
                    yield f"| {name_of(cases)} | {name} | {count} |"

    def _sizes(self) -> Iterator[str]:
        yield wrapped(
            "Named right, by how much the injector delayed a packet, of all causes above: also "
            "packets that were not late by 0.5 ms."
        )
        yield ""
        yield "| delayed by, ms | packets | named right |"
        yield "|---|---|---|"
        bounds = [*(bound / 1e6 for bound in SIZES_NS), float("inf")]
        for of_size in range(1, len(bounds)):
            packets = sum(each.by_size[of_size] for each in self.late)
            right = sum(each.right_by_size[of_size] for each in self.late)
            low, high = bounds[of_size - 1 : of_size + 1]
            name = f"{low:g} to {high:g}" if of_size < len(SIZES_NS) else f"{low:g} and more"
            yield f"| {name} | {packets} | {share(right, packets)} |"

    def _lost(self) -> Iterator[str]:
        yield wrapped(
            "Lost packets: those that were sent while it was injected, for which the kernel's "
            "reason is named right, or the link and what it did. *Blamed*: packets that were lost "
            "at other times, for which it is named all the same."
        )
        yield ""
        yield "| injected | lost | named right | blamed |"
        yield "|---|---|---|---|"
        for case, each in zip(LOSSES, self.lost, strict=True):
            right = share(each.right, each.lost)
            yield f"| {case.name} | {each.lost} | {right} | {each.blamed} of {each.others} |"
