"""The order in which the options of `converge` act: that of the command line. Pure."""

from __future__ import annotations

from delaylab.cli.options import in_order

OPTIONS = {"--down": "down", "--up": "up"}


def test_options_act_in_the_order_of_the_command_line() -> None:
    words = ["lab", "--down", "a", "--up", "a", "--json", "--down=b", "--down", "b", "--down", "c"]
    assert in_order(words, OPTIONS) == [
        ("--down", ("a",)),
        ("--up", ("a",)),
        ("--down", ("b", "c")),
    ]
    assert in_order(["--", "--down", "a"], OPTIONS) == []
    assert in_order(["--timeout", "1s", "--up", "x"], OPTIONS) == [("--up", ("x",))]
