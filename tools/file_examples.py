"""The small example of each model in docs/lab-file.md and docs/study-file.md."""

from __future__ import annotations

from textwrap import dedent

from pydantic import BaseModel

from delaylab.spec.conditions.model import (
    ConditionsSpec,
    DistributionSpec,
    GilbertElliottSpec,
    JitterSpec,
    LossSpec,
    PatternSpec,
    RateSpec,
    ReorderSpec,
)
from delaylab.spec.conditions.queue import QueueSpec
from delaylab.spec.conditions.trace import TraceSpec
from delaylab.spec.kinds import NodeSpec
from delaylab.spec.lab import (
    EngineSpec,
    HostSpec,
    LabSpec,
    LinkSpec,
    UplinkSpec,
    XenSpec,
)
from delaylab.spec.machine import MachineSpec
from delaylab.spec.places import PlaceSpec
from delaylab.spec.placing import InterfaceSpec, PlacementSpec
from delaylab.spec.programs import FileSpec, ProgramSpec, ReadySpec
from delaylab.spec.routing.advertisements import AdvertisementSpec
from delaylab.spec.routing.model import BgpSpec, IsisSpec, OspfSpec, RoutingSpec
from delaylab.spec.routing.ospf_settings import (
    AreaRangeSpec,
    AreaSpec,
    BfdSpec,
    DefaultSpec,
    ImportSpec,
    OspfLinkSpec,
)
from delaylab.spec.routing.static_routes import RouteSpec
from delaylab.spec.timeline.model import MomentSpec
from delaylab_study.study_file.claims import ClaimSpec, LimitsSpec, PublishedSpec
from delaylab_study.study_file.clean import CleanSpec
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.machine_needs import MachineNeedsSpec
from delaylab_study.study_file.model import StudySpec
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.study_file.work import FigureSpec, WorkSpec

_TEXTS: dict[type[BaseModel], str] = {
    LabSpec: """
        lab: shop
        hosts: {office: {}, site: {}}
        nodes: {client: {host: office}, server: {host: site}}
        links:
          - {between: [client, server], name: wan, delay: 10ms}
        timeline:
          - {at: 30s, link: wan, set: {delay: 40ms}}
        """,
    HostSpec: """
        hosts:
          office: {uplink: {rate: 100Mbit}, cpus: [0]}
        """,
    MachineSpec: """
        machines:
          lab2: {ssh: root@192.0.2.2, address: 10.0.0.2}
          lab3: {ssh: root@192.0.2.3, interfaces: [eth1, eth2]}
        """,
    XenSpec: """
        xen: {cpus: 1, scheduler: credit}
        """,
    UplinkSpec: """
        uplink: {rate: 100Mbit, queue: 1000, burst: 16KiB}
        """,
    EngineSpec: """
        engine: {kind: own, cpus: [1], memory: 256MiB}
        """,
    NodeSpec: """
        nodes:
          client: {}
          box: {kind: docker, host: office, memory: 256MiB, packages: [xz-utils]}
          router: {forwards: true, count: 4}
        """,
    RouteSpec: """
        nodes:
          client: {routes: [{to: server, via: router.sea}, {to: 10.9.0.0/16, type: blackhole}]}
        """,
    RoutingSpec: """
        routing: {ospf: {hello: 1s, dead: 4s}}
        nodes:
          r1: {forwards: true}
          r2: {forwards: true, routing: {by: bird, router_id: 192.0.2.2}}
        """,
    OspfSpec: """
        routing:
          ospf: {hello: 1s, dead: 4s, areas: {lan: 1}, nbma: [frame-relay]}
        """,
    OspfLinkSpec: """
        routing:
          ospf: {links: {wan: {hello: 1s, dead: 3s, digest: {1: s3cret}}, lan: {priority: 1}}}
        nodes:
          r1: {forwards: true, routing: {ospf: {links: {lan: {priority: 200}}}}}
        """,
    ImportSpec: """
        nodes:
          border:
            forwards: true
            routing:
              static: [{to: 10.9.0.0/16, via: r2}]
              ospf: {imports: {static: {metric: 7, type: 1}, bgp: {}}}
        """,
    DefaultSpec: """
        nodes:
          gw: {forwards: true, routing: {ospf: {default: {always: true, metric: 40}}}}
        """,
    AreaSpec: """
        routing:
          ospf:
            areas: {wan: 11}
            area_settings: {11: {kind: stub, summaries: false, default_cost: 15}}
        """,
    AdvertisementSpec: """
        ip: [4, 6]
        routing: {ospf: {}, router_advertisements: {lan: {interval: 3s, lifetime: 1min}}}
        """,
    AreaRangeSpec: """
        routing:
          ospf: {areas: {wan: 2}, area_settings: {2: {ranges: [{prefix: 10.19.0.0/16, cost: 42}]}}}
        """,
    BfdSpec: """
        routing: {ospf: {}, bfd: {interval: 50ms, multiplier: 3}}
        """,
    IsisSpec: """
        routing:
          isis: {hello: 1s, multiplier: 3}
        """,
    BgpSpec: """
        routing: {bgp: {keepalive: 1s, hold: 3s}}
        nodes:
          r1: {forwards: true, routing: {bgp: {as: 64512}}}
        """,
    PlacementSpec: """
        hosts: {h1: {nodes: 10}, h2: {nodes: 10}}
        place: {by: metis, slack: 10%, together: 200us}
        """,
    InterfaceSpec: """
        hosts:
          h1: {interfaces: {eth1: 1Gbit, eth2: {rate: 1Gbit, queue: 100}}, across: always}
          h2: {interfaces: {eth1: {rate: 1Gbit, domain: backbone}}}
        """,
    PlaceSpec: """
        nodes:
          london: {at: {longitude: -0.13, latitude: 51.51}}
          lab: {at: {x: 120, y: 40}}
        """,
    FileSpec: """
        files:
          /etc/motd: welcome
          /etc/bird.conf: {content: "log syslog all;", mode: 640, owner: "bird:bird"}
        """,
    ProgramSpec: """
        env: {LANG: C}
        start:
          - ip route add 192.0.2.0/24 dev lo
          - {run: [python3, -m, http.server, "8080"], name: web, ready: {tcp: 8080}}
        """,
    ReadySpec: """
        ready: {prints: listening}
        """,
    LinkSpec: """
        links:
          - {join: [client, box, server], name: lan, mtu: 9000}
          - between: [client, server]
            name: wan
            delay: 10ms
            bandwidth: 100Mbit
            addresses: {client: 10.1.0.1/24, server: 10.1.0.2/24}
            from: {server: {loss: 1%}}
        """,
    ConditionsSpec: """
        from:
          server: {profile: lte, delay: 20ms, loss: 0.5%, queue: {packets: 100}}
        """,
    JitterSpec: """
        jitter: {spread: 1ms, distribution: normal, correlation: 25%}
        """,
    DistributionSpec: """
        distribution: {table: [-1, -0.5, 0, 0, 0.5, 3]}
        """,
    LossSpec: """
        loss: {share: 0.5%, correlation: 20%}
        """,
    GilbertElliottSpec: """
        loss:
          gilbert-elliott: {to_bad: 1%, to_good: 25%, lost_in_bad: 80%}
        """,
    PatternSpec: """
        loss:
          pattern: {runs: [9, 1, 4, 2]}   # 9 kept, 1 lost, 4 kept, 2 lost, again
        """,
    ReorderSpec: """
        reorder: {share: 2%, gap: 5}
        """,
    RateSpec: """
        rate: {limit: 10Mbit, overhead: 42B}
        """,
    QueueSpec: """
        queue: {discipline: codel, bytes: 1MiB, target: 5ms}
        """,
    TraceSpec: """
        trace:                            # 8 Mbit/s for a second, then 2 Mbit/s for a second
          kind: rate
          points: [[0, 8000000], [1000000000, 2000000]]
          period_ns: 2000000000
        """,
    MomentSpec: """
        timeline:
          - {at: 10s, link: wan, node: server, set: {loss: 5%}}
          - {at: 20s, down: [north, east]}            # two links lose their carrier at once
          - {at: 40s, up: [north, east]}
          - {at: 60s, flap: wan, for: 200ms}          # down, and up again after 200 ms
          - {at: 70s, stop: r-1}                      # frozen: its links stay up, and it is silent
          - {at: 80s, start: r-1}
          - {at: 90s, restart: [r-2, r-3], for: 5s}   # without power for 5 s
          - {at: 120s, kill: r-1, programs: [ospfd]}
        """,
    StudySpec: """
        study: distance
        title: Does load matter at a far site?
        lab: branch.yaml
        factors:
          distance:
            near: {links.wan.delay: 1ms}
            far: {links.wan.delay: 20ms}
          load:
            rest: []
            cpu: [{cpu: 2, on: noisy}]
        probe: {from: client, to: server, count: 100, interval: 10ms}
        scales:
          paper: {probe.count: 10000, repeat: 5}
        """,
    WorkSpec: """
        work:
          - {name: count, on: [a, b, c], cpu: 5000}
          - {name: stream, on: [a, b], tcp: 10s, to: server}
          - {name: copy, on: [a, b], scp: 100MB, to: server}
          - {name: messages, on: [a, b, c], mpi: latency}
          - name: pack
            on: [a, b, c]
            prepare: [dd, if=/dev/urandom, of=/tmp/block, bs=1M, count=64]
            command: [xz, --stdout, --verbose, /tmp/block]
            packages: [xz-utils]
            result: '([0-9.]+) MiB/s'
            unit: MiB/s
            deadline: 2min
        """,
    FigureSpec: """
        figures:
          slowest: {find: 'slowest ([0-9]+)', unit: ns}
        """,
    ClaimSpec: """
        claims:
          - claim: container-costs-little
            text: A container adds at most 50 µs to the RTT, whatever the load.
            of: rtt.app
            group: {environment: docker}
            against: {environment: native}
            median: {less-than: +50us}
          - {claim: few-are-lost, of: lost, share: {at-most: 1%}, in: every}
        """,
    LimitsSpec: """
        median: {more-than: 1.2x, at-most: 2x}
        """,
    PublishedSpec: """
        claims:
          - claim: routers-follow
            of: converged
            group: {hello: 1s}
            median: {at-most: 5s}
            published: {value: 4.2s, source: "Moy 1998, figure 3"}
        """,
    LoadSpec: """
        load:
          rest: []
          cpu: [{cpu: 2, on: noisy}]
          network: [{network: both-ways, on: noisy, to: server}]
          full: [{frames: held, at: 90%, size: 1518, on: noisy, to: server}]
          mine: [{command: [make, -j2, -C, /src], on: noisy}]
          asked: [{requests: 200, protocol: http, port: 8000, on: noisy, to: server}]
        """,
    ProbeSpec: """
        probe: {from: client, to: server, protocol: udp, count: 1000, interval: 1ms, late: 200ms}
        """,
    MachineNeedsSpec: """
        machine: {cpus: 4, memory: 8GiB, kvm: true, model: EPYC}
        """,
    CleanSpec: """
        probe:
          from: client
          to: server
          count: 400
          interval: 50ms
          clean: {budget: 400, deadline: 30s}
        """,
}
EXAMPLES = {model: dedent(text).removeprefix("\n") for model, text in _TEXTS.items()}
