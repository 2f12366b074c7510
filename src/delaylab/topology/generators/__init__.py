"""Generators of networks: their names, their parameters, their maps."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from delaylab.errors import BadInput, did_you_mean
from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.generators import regular
from delaylab.topology.generators.sketch import Sketch
from delaylab.topology.model import Map, MapLink
from delaylab.units import Duration, Quantity, Rate

MICROSECOND = 1_000
MOST = 10_000
Number = int | float


@dataclass(frozen=True)
class Parameter:
    """A parameter of a generator, with its bounds; a bound of a fraction is a fraction."""

    name: str
    low: Number
    high: Number
    usual: Number | None = None
    """Its value if it is left out; None if it has to be given."""

    def read(self, given: object, shape: str) -> Number:
        """Return a value; raise BadInput if it is none or out of bounds."""
        kind, words = (
            (float, "a number") if isinstance(self.low, float) else (int, "a whole number")
        )
        expected = f"`{self.name}` of a {shape} is {words} from {self.low} to {self.high}"
        try:
            value = kind(str(given))
        except ValueError:
            raise BadInput(f"{expected}, got {str(given)[:40]!r}") from None
        if not self.low <= value <= self.high:
            raise BadInput(f"{expected}, got {value}")
        return value


Make = Callable[..., Sketch]


@dataclass(frozen=True)
class Generator:
    """A generator: its parameters in the order in which bare numbers give them."""

    make: Make
    parameters: tuple[Parameter, ...]
    seeded: bool = False


def _waxman(nodes: int, beta: float, alpha: float, seed: int) -> Sketch:
    from delaylab.topology.generators import drawn  # noqa: PLC0415  networkx takes 0.2 s to import

    return drawn.waxman(nodes, beta, alpha, seed)


def _barabasi_albert(nodes: int, links: int, seed: int) -> Sketch:
    from delaylab.topology.generators import drawn  # noqa: PLC0415  as above

    if links >= nodes:
        raise BadInput(f"`links` of a barabasi-albert is less than its nodes, got {links}")
    return drawn.barabasi_albert(nodes, links, seed)


def _transit_stub(
    transits: int, transit_nodes: int, stubs: int, stub_nodes: int, seed: int
) -> Sketch:
    from delaylab.topology.generators import drawn  # noqa: PLC0415  as above

    return drawn.transit_stub(transits, transit_nodes, stubs, stub_nodes, seed)


def _fat_tree(k: int) -> Sketch:
    if k % 2:
        raise BadInput(f"`k` of a fat-tree is even, got {k}")
    return regular.fat_tree(k)


GENERATORS: dict[str, Generator] = {
    "ring": Generator(regular.ring, (Parameter("nodes", 3, MOST),)),
    "line": Generator(regular.line, (Parameter("nodes", 2, MOST),)),
    "star": Generator(regular.star, (Parameter("leaves", 1, MOST - 1),)),
    "grid": Generator(regular.grid, (Parameter("rows", 1, 1000), Parameter("columns", 1, 1000))),
    "torus": Generator(regular.torus, (Parameter("rows", 3, 1000), Parameter("columns", 3, 1000))),
    "fat-tree": Generator(_fat_tree, (Parameter("k", 2, 26),)),
    "leaf-spine": Generator(
        regular.leaf_spine,
        (
            Parameter("leaves", 1, 1000),
            Parameter("spines", 1, 1000),
            Parameter("hosts", 0, 1000, 0),
        ),
    ),
    "waxman": Generator(
        _waxman,
        (
            Parameter("nodes", 2, 2000),
            Parameter("beta", 0.0, 1.0, 0.4),
            Parameter("alpha", 0.001, 10.0, 0.1),
        ),
        seeded=True,
    ),
    "barabasi-albert": Generator(
        _barabasi_albert, (Parameter("nodes", 2, MOST), Parameter("links", 1, 100, 2)), seeded=True
    ),
    "transit-stub": Generator(
        _transit_stub,
        (
            Parameter("transits", 1, 50, 2),
            Parameter("transit_nodes", 1, 50, 4),
            Parameter("stubs", 0, 50, 2),
            Parameter("stub_nodes", 1, 50, 4),
        ),
        seeded=True,
    ),
}
"""The generators by name."""


@dataclass(frozen=True)
class QuantityRange:
    """A quantity, or a range that each link draws its own from."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str, kind: type[Quantity], what: str) -> QuantityRange:
        """Read `10ms` or `1ms..10ms`; raise BadInput if it is neither."""
        first, dots, last = text.partition("..")
        try:
            low = int(kind.parse(first))
            high = int(kind.parse(last)) if dots else low
        except ValueError as error:
            raise BadInput(str(error), what) from None
        if low > high:
            raise BadInput(f"the range {text[:40]!r} ends before it begins", what)
        return cls(low, high)

    def draw(self, seed: str, step: int) -> int:
        """Return a value of the range that depends on the seed alone, in steps where it has any."""
        if self.low == self.high:
            return self.low
        value = random.Random(seed).randint(self.low, self.high)
        return max(self.low, value // step * step)


@dataclass(frozen=True)
class NetworkRequest:
    """A network to generate, as a user gives it."""

    shape: str
    given: Mapping[str, object]
    seed: int = 1
    delay: str | None = None
    rate: str | None = None


def generate(request: NetworkRequest) -> Map:
    """Return a generated map; raise BadInput for an unknown generator or parameter."""
    generator = _known(request.shape)
    values = _values(request.shape, generator, request.given)
    sketch = generator.make(**values, **({"seed": request.seed} if generator.seeded else {}))
    said = ", ".join(f"{name}={value:g}" for name, value in values.items())
    drawn = generator.seeded or any(".." in (text or "") for text in (request.delay, request.rate))
    about = f"{request.shape}, {said}" + (f", seed {request.seed}" if drawn else "")
    build = Builder(request.shape, about, request.shape)
    for name, (place, forwards) in sketch.nodes.items():
        build.node(name, at=place, forwards=forwards)
    for a, b in sketch.links:
        build.edge(Edge(a=a, b=b))
    found = build.finish()
    return replace(found, links=tuple(_with_conditions(found.links, request)))


def _known(shape: str) -> Generator:
    if shape not in GENERATORS:
        fix = f"generators: {', '.join(GENERATORS)}"
        raise BadInput(f"no generator {shape[:40]!r}{did_you_mean(shape, GENERATORS)}", "", fix)
    return GENERATORS[shape]


def _values(shape: str, generator: Generator, given: Mapping[str, object]) -> dict[str, Number]:
    known = {each.name: each for each in generator.parameters}
    for name in given:
        if name not in known:
            fix = f"parameters: {', '.join(known)}"
            raise BadInput(f"a {shape} has no {name[:40]!r}{did_you_mean(name, known)}", "", fix)
    values = {}
    for name, each in known.items():
        value = given.get(name, each.usual)
        if value is None:
            usage = " ".join(f"{one.name.upper()}" for one in generator.parameters)
            raise BadInput(f"a {shape} needs `{name}`", "", f"delaylab generate {shape} {usage}")
        values[name] = each.read(value, shape)
    return values


def words(shape: str, said: Sequence[str]) -> dict[str, object]:
    """Return parameters of the command line: bare numbers in their order, others `NAME=VALUE`."""
    names = [each.name for each in _known(shape).parameters]
    bare = [word for word in said if "=" not in word]
    if len(bare) > len(names):
        raise BadInput(f"a {shape} has {len(names)} parameters", "", f"{', '.join(names)}")
    pairs = [word.partition("=")[::2] for word in said if "=" in word]
    found: dict[str, object] = dict(zip(names, bare, strict=False))
    for name, value in pairs:
        if name in found:
            raise BadInput(f"{name!r} is given twice")
        found[name] = value
    return found


def _with_conditions(links: Sequence[MapLink], request: NetworkRequest) -> list[MapLink]:
    delay = None if request.delay is None else QuantityRange.parse(request.delay, Duration, "delay")
    rate = None if request.rate is None else QuantityRange.parse(request.rate, Rate, "rate")
    step = MICROSECOND if delay is not None and delay.low >= MICROSECOND else 1
    return [
        replace(
            link,
            delay=None if delay is None else delay.draw(f"{request.seed} delay {link.name}", step),
            capacity=None if rate is None else rate.draw(f"{request.seed} rate {link.name}", 1000),
        )
        for link in links
    ]
