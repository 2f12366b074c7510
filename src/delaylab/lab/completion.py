"""Completion of a plan when its lab starts: paths of images, and whether KVM works."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from delaylab import images
from delaylab.dataset.records.doubts import Doubt, DoubtKind, doubt, each_once
from delaylab.errors import NotHere
from delaylab.images import kvm
from delaylab.plan.model import Agent, Plan
from delaylab.progress import Progress, silent

VHOST = "/dev/vhost-net"
EMULATED = "tcg,thread=multi"
ACCEL = re.compile(r"\{accel:(auto|kvm|tcg)\}")


def complete(plan: Plan, progress: Progress = silent) -> tuple[Plan, list[Doubt]]:
    """Return the plan with every placeholder filled in, and notes for the user.

    Images are built if they are missing. Raises NotHere if an image cannot be built, or if the lab
    file demands KVM and it does not work.
    """
    notes: list[Doubt] = []
    known: dict[str, str] = {}

    def accelerator(wanted: re.Match[str]) -> str:
        return _accelerator(wanted[1], notes, progress)

    def filled(agent: Agent) -> Agent:
        if agent.guest is None:
            return agent
        if EMULATED in agent.guest.command:
            notes.append(_emulated(f"{agent.name} is a machine that is always emulated (TCG)"))
        words = [ACCEL.sub(accelerator, word) for word in agent.guest.command]
        vhost = ",vhost=on" if "kvm" in words and os.access(VHOST, os.R_OK | os.W_OK) else ""
        words = [word.replace("{vhost}", vhost) for word in words]
        command = tuple(images.resolve(word, progress, known) for word in words)
        return replace(agent, guest=replace(agent.guest, command=command))

    return replace(plan, agents=tuple(map(filled, plan.agents))), each_once(notes)


def booted(plan: Plan) -> dict[str, str]:
    """Return the image layers that the guests of a complete plan boot, each with its hash."""
    guests = (agent.guest for agent in plan.agents)
    return images.used(word for guest in guests if guest for word in guest.command)


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


def _accelerator(wanted: str, notes: list[Doubt], progress: Progress) -> str:
    if wanted != "tcg":
        reason = kvm.probe(progress).reason
        if reason is None:
            return "kvm"
        if wanted == "kvm":
            raise NotHere(f"KVM does not work here: {reason}", fix="say `accel: auto` or `tcg`")
        notes.append(_emulated(f"virtual machines are emulated (TCG), without KVM: {reason}"))
    return EMULATED


def _emulated(message: str) -> Doubt:
    return doubt(DoubtKind.EMULATED, message, "")
