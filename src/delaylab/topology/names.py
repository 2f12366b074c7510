"""Names in a lab of what a source calls otherwise: unique, and the same in every import.

No name depends on the order of a source, or on how many nodes and links it has: a source to which
lines were added gives the same names to what was there before, unless two would then be the same.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set

LONGEST = 24
"""The longest name of a node that is made from a label."""
INTERFACE = 15
"""The longest name of a link, where one so short can be made: it may name an interface."""
LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
)
"""Letters that have no decomposition into a Latin letter and an accent."""
RESERVED = ("true", "false", "null", "localhost", "ip6-localhost")
"""Names that YAML or every system takes for something else."""
DIGITS = re.compile(r"([0-9]+)")


def slug(text: str, most: int = LONGEST) -> str:
    """Return text in a lab file's letters, a letter first; "" if it has none of them."""
    plain = unicodedata.normalize("NFKD", text.lower().translate(LETTERS))
    ascii_only = plain.encode("ascii", "ignore").decode()
    found = re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")
    if found and (not found[0].isalpha() or found in RESERVED):
        found = f"n{found}"
    return found[:most].rstrip("-")


def node_names(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return a name for each key of a source: of its label, else of the key itself.

    Nodes that share a label get their keys added to it.
    """
    first = {key: slug(label) or slug(key) or "n" for key, label in wanted.items()}
    times = Counter(first.values())
    names = {
        key: name if times[name] == 1 else _with(name, slug(key).removeprefix("n") or _hash(key))
        for key, name in first.items()
    }
    times = Counter(names.values())
    return {
        key: name if times[name] == 1 else _with(first[key], _hash(key))
        for key, name in names.items()
    }


def _with(name: str, end: str) -> str:
    end = end[: LONGEST // 2].strip("-")
    return f"{name[: LONGEST - 1 - len(end)].rstrip('-')}-{end}"


def _hash(text: str, length: int = 6) -> str:
    """Return some letters and digits that depend on the text alone."""
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8])
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    found = ""
    while len(found) < length:
        number, rest = divmod(number, 36)
        found += letters[rest]
    return found


def natural(name: str) -> list[tuple[int, str | int]]:
    """Return a key that sorts `r2` before `r10`."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in DIGITS.split(name)]


def link_names(ends: Sequence[tuple[str, str]]) -> list[str]:
    """Return a name for each link: `a-b` of its nodes, shortened; of parallel ones `a-b-2`."""
    pairs = [tuple(sorted(pair, key=natural)) for pair in ends]
    base: dict[tuple[str, ...], str] = {}
    waiting = list(dict.fromkeys(pairs))
    for level in (_whole, _shortened, _hashed, _of_hash):
        names = {pair: level(*pair) for pair in waiting}
        times = Counter(name for name in names.values() if name)
        taken = set(base.values())
        base |= {
            pair: name
            for pair, name in names.items()
            if name and times[name] == 1 and name not in taken
        }
        waiting = [pair for pair in waiting if pair not in base]
    return _numbered([base[pair] for pair in pairs])


def lan_name(wanted: str, taken: Set[str]) -> str:
    """Return a name for a LAN that no link has: its own, if an interface can have it."""
    if len(wanted) <= INTERFACE and wanted not in taken:
        return wanted
    return _of_hash(wanted, "lan")


def _numbered(names: list[str]) -> list[str]:
    seen: dict[str, int] = defaultdict(int)
    used = set(names)
    found = []
    for name in names:
        seen[name] += 1
        numbered = name if seen[name] == 1 else f"{name}-{seen[name]}"
        if numbered != name and numbered in used:
            numbered = f"{name[:8]}-{_hash(numbered)}"
        used.add(numbered)
        found.append(numbered)
    return found


def _whole(one: str, two: str) -> str:
    name = f"{one}-{two}"
    return name if len(name) <= INTERFACE else ""


def _shortened(one: str, two: str) -> str:
    """Return both nodes' names, the longer one shortened first; there is room for `-2`."""
    room = INTERFACE - 3
    one, two = (each.replace("-", "") for each in (one, two))
    first = max(room // 2, room - len(two))
    return f"{_short(one, first)}-{_short(two, room - min(len(one), first))}"


def _hashed(one: str, two: str) -> str:
    ends = [_short(each.replace("-", ""), 4) for each in (one, two)]
    return "-".join([*ends, _hash(f"{one} {two}", 3)])


def _of_hash(one: str, two: str) -> str:
    return f"l-{_hash(f'{one} {two}', 12)}"


def _short(name: str, most: int) -> str:
    """Return a name of at most so many characters, which keeps the number at the end."""
    if len(name) <= most:
        return name
    digits = re.search(r"[0-9]*$", name)
    end = digits[0] if digits and len(digits[0]) < most else ""
    return name[: most - len(end)] + end
