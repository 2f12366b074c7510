"""The environment that a lab's programs inherit."""

from __future__ import annotations

import os

import pytest

from delaylab.io.environment import PLUGINS, inherited, without_plugins

NAME, WORD = PLUGINS


def test_what_delaylab_sets_for_itself_is_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "")  # so that its absence is restored
    monkeypatch.delenv(NAME)
    monkeypatch.setenv("KEPT", "yes")
    without_plugins()
    assert os.environ[NAME] == WORD
    found = inherited()
    assert NAME not in found
    assert found["KEPT"] == "yes"


def test_a_users_own_setting_stays_and_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "logfire-plugin")
    without_plugins()
    assert os.environ[NAME] == "logfire-plugin"
    assert inherited()[NAME] == "logfire-plugin"
