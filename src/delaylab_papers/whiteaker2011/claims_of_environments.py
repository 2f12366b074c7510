"""Claims of whiteaker2011 that compare environments, or one stressed guest with four."""

from __future__ import annotations

from delaylab_study.papers.toolkit import (
    EACH_ENOUGH,
    Claim,
    Criterion,
    Source,
    above,
    between,
)

from .environments import (
    all_guests_to_one,
    openvz_to_vserver,
    openvz_to_vserver_in_network,
    vserver_to_linux,
)
from .measures import ALIKE, MAGNITUDE, SMALL_QUEUES

OF_ENVIRONMENTS = (
    Claim(
        "vserver-as-linux",
        "VServer's delays have the order of magnitude of Linux's under all loads.",
        Source(
            "section 4.2",
            "VServer shows results in the same order of magnitude as Linux for all stress cases.",
            "table 1",
        ),
        (
            Criterion(
                "median of user RTT less wire RTT, VServer ÷ Linux",
                "times",
                between(1 / MAGNITUDE, MAGNITUDE),
                vserver_to_linux,
                f"senders of kinds native and shared under the same load, {EACH_ENOUGH}",
            ),
        ),
        about=("stack",),
    ),
    Claim(
        "openvz-as-vserver",
        "OpenVZ's delays are nearly those of VServer, except under network load.",
        Source(
            "section 4.4",
            "We find the performance of OpenVZ to be nearly identical to that of VServer, except "
            "in the case of network stress.",
        ),
        (
            Criterion(
                "median of user RTT less wire RTT, OpenVZ ÷ VServer",
                "times",
                between(1 / ALIKE, ALIKE),
                openvz_to_vserver,
                "senders of kinds shared and netns under the same load other than the network, "
                f"{EACH_ENOUGH}",
            ),
            Criterion(
                "median ΔKern under network load, OpenVZ ÷ VServer",
                "times",
                above(ALIKE),
                openvz_to_vserver_in_network,
                f"senders of kinds shared and netns under network load, {EACH_ENOUGH}",
            ),
        ),
        SMALL_QUEUES,
        about=("stack",),
    ),
    Claim(
        "stressed-guests-change-nothing",
        "Four stressed guests of four threads each change the result of one no further.",
        Source(
            "section 3.3",
            "Although not presented here, we performed our experiments using up to four guest VMs "
            "executing stress, with each VM executing up to four stress threads. The results of "
            "these tests do not deviate significantly from those presented.",
        ),
        (
            Criterion(
                "median of user RTT less wire RTT, four guests ÷ one",
                "times",
                between(1 / ALIKE, ALIKE),
                all_guests_to_one,
                f"trials with one stressed guest and with four, {EACH_ENOUGH}",
            ),
        ),
        about=("stack",),
    ),
)
