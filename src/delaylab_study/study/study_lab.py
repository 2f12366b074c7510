"""A lab of a study, planned once: what can be said of it before it runs asks that plan."""

from __future__ import annotations

from functools import cached_property

from delaylab.api.errors import DelaylabError
from delaylab.api.lab import Lab
from delaylab.api.machines import LOCAL
from delaylab.api.plans import KINDS, Plan, build
from delaylab.api.running import check_cpus, check_memory, check_packages, is_emulated


class StudyLab:
    """A lab that trials share, with its plan on this machine or the reason why it has none."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @cached_property
    def _planned(self) -> Plan | DelaylabError:
        try:
            return build(self.lab, KINDS, LOCAL.rights())
        except DelaylabError as error:
            return error

    @property
    def plan(self) -> Plan | None:
        """Return the lab's plan; None if this machine cannot have the lab."""
        return self._planned if isinstance(self._planned, Plan) else None

    @cached_property
    def why_not(self) -> str:
        """Return why this machine cannot have the lab; an empty text if it can.

        Nothing is started: an image that cannot be built, or a program that fails, shows only
        later.
        """
        if isinstance(self._planned, DelaylabError):
            return str(self._planned)
        try:
            check_packages([self.lab])
            check_cpus(self.lab, LOCAL)
            check_memory(self.lab, LOCAL)
        except DelaylabError as error:
            return str(error)
        return ""

    @cached_property
    def is_emulated(self) -> bool:
        """Return True if virtual machines of the lab are emulated here.

        A lab without a plan has none. No guest is booted to find out whether KVM works.
        """
        try:
            return self.plan is not None and is_emulated(self.plan)
        except DelaylabError:
            return False
