"""The environment of this process, and the one that a lab's programs inherit."""

from __future__ import annotations

import os

PLUGINS = ("PYDANTIC_DISABLE_PLUGINS", "__all__")
"""The variable, and its value, by which pydantic looks for no plugins.

It would read the metadata of every installed package for them, which takes each verb 6 to 10 ms;
delaylab's models have no use for any.
"""


def without_plugins() -> None:
    """Have pydantic look for no plugins, unless the user has set otherwise."""
    os.environ.setdefault(*PLUGINS)


def inherited() -> dict[str, str]:
    """Return the environment for a lab's programs: this process's, without what delaylab set."""
    return {name: value for name, value in os.environ.items() if (name, value) != PLUGINS}
