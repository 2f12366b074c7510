"""Reports of what nodes cannot be or have with the rights of a user."""

import pytest

from delaylab.errors import NotHere
from delaylab.kinds import KINDS
from delaylab.plan.kind import Rights
from tests.ground.test_plan import USER, planned


def test_user_mode_linux_is_refused_where_it_would_panic() -> None:
    reason = KINDS["uml"].can_run(Rights(root=True, amx=True), False)
    assert reason is not None
    assert "AMX" in reason
    assert KINDS["uml"].can_run(Rights(root=True), False) is None


def test_routing_daemons_are_refused_where_their_configuration_cannot_be_written() -> None:
    text = """
lab: x
routing: ospf
nodes: {{r: {{kind: {kind}, forwards: true, count: 2}}}}
links: [{{between: [r-1, r-2]}}]
"""
    assert planned(text.format(kind="qemu"), USER)[1].daemons
    with pytest.raises(NotHere, match="'r-1' cannot have `routing`: only root can write"):
        planned(text.format(kind="netns"), USER)
