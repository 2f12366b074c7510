"""Ways that an event changed: which pairs of nodes, before and after, equal ways included."""

from __future__ import annotations

from delaylab.forwarding.detours import SHOWN, Detour, Detours, NodesPassed, detours

RING = {
    "d": {
        "a": frozenset("bd"),
        "b": frozenset("c"),
        "c": frozenset("d"),
        "d": frozenset[str](),
    }
}
CUT = {"d": {**RING["d"], "a": frozenset("b")}}


def test_only_pairs_whose_packets_may_pass_a_changed_node_have_another_way() -> None:
    assert detours(RING, CUT) == Detours(
        1,
        3,
        (
            Detour(
                "a", "d", NodesPassed(("a", "b", "c", "d"), 2), NodesPassed(("a", "b", "c", "d"), 1)
            ),
        ),
    )


def test_a_change_on_the_way_counts_for_all_before_it() -> None:
    turned = {"d": {**RING["d"], "c": frozenset("b"), "b": frozenset("a"), "a": frozenset("d")}}
    found = detours(RING, turned)
    assert [(each.source, each.after and each.after.nodes) for each in found.shown] == [
        ("c", ("c", "b", "a", "d")),
        ("b", ("b", "a", "d")),
        ("a", ("a", "d")),
    ]


def test_a_loop_and_a_black_hole_are_no_way() -> None:
    looping = {"d": {**RING["d"], "c": frozenset("b")}}
    hole = {"d": {**RING["d"], "c": frozenset[str]()}}
    for broken in (looping, hole):
        found = {each.source: each.after for each in detours(RING, broken).shown}
        assert (found["b"], found["c"]) == (None, None)
    back = {each.source: each.before for each in detours(hole, RING).shown}
    assert back["b"] is None


def test_nodes_that_do_not_run_are_no_end_of_a_way() -> None:
    assert detours(RING, CUT, {"a"}) == Detours(0, 2)
    assert detours(RING, CUT, {"d"}) == Detours()


def test_all_are_counted_and_the_first_are_kept() -> None:
    names = [f"n{number:02}" for number in range(SHOWN + 5)]
    star = {"d": {name: frozenset("d") for name in names}}
    gone = {"d": {name: frozenset[str]() for name in names}}
    found = detours(star, gone)
    assert (found.changed, found.pairs, len(found.shown)) == (SHOWN + 5, SHOWN + 5, SHOWN)
