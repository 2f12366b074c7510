"""What the tests with real packets share."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import pytest

from tests.packets.agents import Pair, pair


@pytest.fixture
def joined(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Two namespaces of this test's own."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with pair(re.sub(r"\W", "", request.node.name)[-20:]) as made:
        yield made
