"""An agent outside of all labs ends with its session, also one that is busy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from delaylab.agent import local_session


def test_an_agent_that_does_not_notice_its_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed `up` waited for its observer, which was behind with a flood of changes."""
    pid = tmp_path / "pid"
    busy = tmp_path / "agent"
    busy.write_text(f"#!/bin/sh\necho $$ >{pid}.new; mv {pid}.new {pid}; echo; exec sleep 1000\n")
    busy.chmod(0o755)
    monkeypatch.setattr(local_session, "agent_path", lambda: busy)
    monkeypatch.setattr(local_session, "ENDED_S", 0.01)
    session = local_session.local_session()
    assert os.read(session.fileno(), 1) == b"\n", "it runs"
    session.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
