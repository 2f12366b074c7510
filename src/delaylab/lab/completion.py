"""Completion of a plan when its lab starts: paths of images and files, and whether KVM works.

Each guest gets the paths on the machine that carries it; what is not there yet is put there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from delaylab import images
from delaylab.errors import NotHere
from delaylab.images import kvm
from delaylab.machines import Machine, on
from delaylab.plan.kind import VHOST
from delaylab.plan.model import Agent, Guest, Plan
from delaylab.plan.parts import machine_of
from delaylab.plan.references import Places, filled_in
from delaylab.progress import Progress, silent
from delaylab.records.doubts import Doubt, DoubtKind, doubt, each_once

EMULATED = "tcg,thread=multi"
ACCEL = re.compile(r"\{accel:(auto|kvm|tcg)\}")


@dataclass(frozen=True)
class Completed:
    """A plan without placeholders of its lab, notes, and the layers that guests boot, with keys."""

    plan: Plan
    notes: list[Doubt]
    booted: dict[str, str]


def complete(plan: Plan, machines: Mapping[str, Machine], progress: Progress = silent) -> Completed:
    """Return the plan with every placeholder filled in that does not wait for the guest's start.

    Images are built if they are missing, and put on the `machines` whose guests boot them. Raises
    NotHere if an image cannot be built, or if the lab file demands KVM and it does not work.
    """
    places = {name: _Place(machine, progress) for name, machine in machines.items()}

    def filled(agent: Agent) -> Agent:
        if agent.guest is None:
            return agent
        return replace(agent, guest=places[machine_of(plan, agent)].filled(agent.name, agent.guest))

    made = replace(plan, agents=tuple(map(filled, plan.agents)))
    paths = [str(path) for place in places.values() for path in place.put]
    notes = [note for place in places.values() for note in place.notes]
    return Completed(made, each_once(notes), images.used(paths))


@dataclass
class _Place:
    """A machine that carries guests, and the files of this machine that are there by now."""

    machine: Machine
    progress: Progress
    notes: list[Doubt] = field(default_factory=list)
    put: dict[Path, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    """The paths there of images' files, by their references."""
    engine_images: dict[str, Path] = field(default_factory=dict)
    """The tars for container engines, by the paths of the user's own."""

    def filled(self, agent: str, guest: Guest) -> Guest:
        """Return a guest whose command has no placeholder of this program any more."""
        if EMULATED in guest.command:
            self.notes.append(_emulated(f"{agent} is a machine that is always emulated (TCG)"))
        words = [ACCEL.sub(self._accelerator, word) for word in guest.command]
        vhost = "kvm" in words and VHOST not in self.machine.rights().lacking
        words = [word.replace("{vhost}", ",vhost=on" if vhost else "") for word in words]
        words = [images.resolve(word, self.progress, self.known, self._path) for word in words]
        places = Places(self._file, self._engine_image, self._drive, self._root, _inside)
        words = [filled_in(word, places) for word in words]
        return replace(guest, command=tuple(words))

    def _file(self, path: str) -> str:
        return self._path(Path(path))

    def _engine_image(self, path: str) -> str:
        if path not in self.engine_images:
            from delaylab.images import archives  # noqa: PLC0415  few labs have such nodes

            self.engine_images[path] = archives.for_engine(Path(path), self.progress)
        return self._path(self.engine_images[path])

    def _drive(self, path: str) -> str:
        from delaylab.images import disk_files  # noqa: PLC0415  few labs have such nodes

        found = disk_files.check(Path(path))
        return found.drive(self._path(Path(path)))

    def _root(self, path: str) -> str:
        from delaylab.images import root_files  # noqa: PLC0415  few labs have such nodes

        root_files.check(Path(path))
        return self._path(Path(path))

    def _path(self, path: Path) -> str:
        if path not in self.put:
            self.put[path] = str(self.machine.put(path, self.progress))
        return self.put[path]

    def _accelerator(self, wanted: re.Match[str]) -> str:
        if wanted[1] == "tcg":
            return EMULATED
        reason = self.machine.why_no_kvm(self.progress)
        if reason is None:
            return "kvm"
        where = on(self.machine.name)
        if wanted[1] == "kvm":
            what = f"KVM does not work{where or ' here'}: {reason}"
            raise NotHere(what, fix="say `accel: auto` or `tcg`")
        what = f"virtual machines{where} are emulated (TCG), without KVM: {reason}"
        self.notes.append(_emulated(what))
        return EMULATED


def _inside(root: str, path: str, is_folder: bool) -> str:
    from delaylab.images import root_files  # noqa: PLC0415  few labs have such nodes

    return root_files.place_in(Path(root), path, is_folder=is_folder)


def is_emulated(plan: Plan) -> bool:
    """Return True if the plan has machines that are emulated, as far as is known without a boot."""
    wanted = {
        found[1]
        for agent in plan.agents
        if agent.guest is not None
        for word in agent.guest.command
        for found in ACCEL.finditer(word)
    }
    always = any(agent.guest and EMULATED in agent.guest.command for agent in plan.agents)
    if always or "tcg" in wanted:
        return True
    known = kvm.known() if "auto" in wanted else None
    return known is not None and known.reason is not None


def _emulated(message: str) -> Doubt:
    return doubt(DoubtKind.EMULATED, message, "")
