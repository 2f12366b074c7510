"""The installed version."""

from importlib.metadata import version

VERSION = version("delaylab")
