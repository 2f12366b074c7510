"""Meanings of the columns of exported tables, for their dictionary."""

from __future__ import annotations

from delaylab_study.dataset.records.tables import EPOCH
from delaylab_study.dataset.records.tables import MEANINGS as OF_TRIALS

LEVEL = "The level of the factor `{}`."
TRIAL = {
    "trial": "The trial's id: its levels and its repeat.",
    "repeat": "The number of the repeat, from 1 on.",
}
UNSEEN = "null if one of its points did not see the packet"
ROUND_TRIP = "The round trip between"
NAMES_OF_EFFECT = {
    "unit": "The unit of the effect: `µs`, `share`, `times` or `index`.",
    "effect": "The effect; null if it was not measured.",
    "low": "The lower end of the effect's 95 % interval; infinite if too few packets carry it.",
    "high": "The upper end of the effect's 95 % interval; infinite if too few packets carry it.",
    "published": "The paper's own value of the effect; null if it gives none.",
}
QUANTILES = {
    f"rtt_{name}_{quantile}_us": f"The {quantile} of the round trip {where}, of the packets under "
    "load; null if too few independent packets carry it."
    for name, where in (
        ("user", "in user space"),
        ("kernel", "in the sender's kernel"),
        ("wire", "at the wire"),
    )
    for quantile in ("median", "p90", "p99")
}
MEANINGS: dict[str, dict[str, str]] = {
    "packets": {
        **TRIAL,
        **OF_TRIALS["probes"],
        "rtt_user_ns": f"{ROUND_TRIP} send and receive call in user space; {UNSEEN}.",
        "rtt_kernel_ns": f"{ROUND_TRIP} the stamps of the sender's kernel; {UNSEEN}.",
        "rtt_vif_ns": f"{ROUND_TRIP} the stamps at the host's end of its interface; {UNSEEN}.",
        "rtt_uplink_ns": f"{ROUND_TRIP} the stamps at the uplink of its host; {UNSEEN}.",
        "rtt_wire_ns": f"{ROUND_TRIP} the stamps at the wire; {UNSEEN}.",
        "sending_one_way_ns": f"The one-way delay from the send call to the wire; {UNSEEN}.",
        "receiving_one_way_ns": f"The one-way delay from the wire to the receive call; {UNSEEN}.",
        "flagged": "True if the sender's machine was disturbed when the packet was sent: its "
        "hypervisor took CPU time, or tasks waited for a CPU.",
    },
    "segments": {
        **TRIAL,
        "probe": OF_TRIALS["probes"]["probe"],
        "seq": OF_TRIALS["probes"]["seq"],
        "phase": OF_TRIALS["probes"]["phase"],
        "step": "The position of the segment on the packet's way, from 1 on.",
        "leg": OF_TRIALS["stamps"]["leg"],
        "from": "The point at which the segment begins.",
        "to": "The point at which it ends.",
        "layer": "The layer that the segment's time is of.",
        "direction": "The direction as a reader sees it: sending, remote or receiving.",
        "merged": "True if it spans a point that saw nothing of the packet.",
        "delay_ns": "The one-way delay of the segment; those of a packet sum to its round trip.",
        "bound_ns": "The largest error of the delay if two clocks stamped its ends, else 0.",
        "way": "The way that the packet went; only if packets went several.",
    },
    "work": {
        **TRIAL,
        "work": "The name of the work.",
        "node": "The node that did it.",
        "kind": "The kind of the node.",
        "quota": "The CPUs that the node may use; null if it has no limit.",
        "unit": "The unit of the work.",
        "failed": "Why it did not end; null if it did.",
        "rate": "The amount done in a second, in `unit`.",
        "began_ns": f"The time when the node began, {EPOCH}.",
        "wall_ns": "The time that it took, by the node's own kernel.",
        "user_ns": "The CPU time in user space, by the node's own kernel.",
        "system_ns": "The CPU time in the kernel, by the node's own kernel.",
        "host_cpu_ns": "The CPU time of the node's control group, by its machine's kernel.",
        "vcpu_ns": "The part of it that the virtual CPUs took; null if it has none.",
    },
    "trials": {
        **TRIAL,
        "status": "The end of the trial: `ok`, `failed` or `skipped`.",
        "reason": "The reason for `failed` or `skipped`.",
        "doubts": "The kinds of doubts about the trial, joined by commas.",
        "started": "The time when it began, in ISO 8601.",
        "ended": "The time when it ended, in ISO 8601.",
        "sent": "The packets under load that were sent.",
        "answered": "The packets under load that were answered.",
        "lost": "The packets under load that were sent and never answered.",
        **QUANTILES,
    },
    "events_of_each": {
        **TRIAL,
        "number": "The number of the event in its trial, from 1 on.",
        "event": "The event in words.",
        "event_ns": f"The time when it happened, {EPOCH}.",
        "until": "The rule by which the network had converged: `right` or `quiet`.",
        "detected_s": "The time from the event to another router's first change of an adjacency.",
        "last_change_s": "The time from the event to the last change of a table.",
        "converged_s": "The time from the event until the network had converged by the rule.",
        "outage_s": "The length of the longest black hole or loop.",
        "late_s": "How late the event happened.",
        "cpu_bound": "True if waiting for CPUs may explain more than a tenth of the times.",
    },
    "claims": {
        "claim": "The claim's name.",
        "verdict": "The verdict, such as `reproduced`, `contradicted` or `open`.",
        "quantity": "What the deciding effect is an effect of.",
        "rule": "The rule that decided.",
        **NAMES_OF_EFFECT,
        "place": "The place of the claim in its paper, or the study file.",
        "sentence": "The paper's own sentence.",
        "why": "The reason for the verdict.",
    },
    "scenarios": {
        "claim": "The claim's name.",
        "quantity": "What the effect is an effect of.",
        "scenario": "The scenario: the levels in which it was measured.",
        **NAMES_OF_EFFECT,
        "holds": "True if the scenario keeps the rule, false if it breaks it, null if neither is "
        "shown.",
        "aside": "True for a scenario that is shown and does not decide.",
    },
}
