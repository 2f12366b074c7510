//! Requests that send, answer and stamp a probe's packets. Times are in ns, sizes in bytes.

use std::borrow::Cow;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asking::Ask;

/// The protocol of a probe's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    /// ICMP echo.
    Icmp,
    /// Datagrams to a port.
    #[default]
    Udp,
    /// Handshakes with a TCP port, each from a source port of its own.
    Tcp,
    /// Requests of HTTP/1.1.
    Http,
    /// The same over TLS.
    Https,
    /// Queries of DNS over UDP, each from a source port of its own.
    Dns,
    /// Datagrams with a payload of one's own, each from a source port of its own.
    Datagram,
}

/// The way in which packets are passed to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// ICMP or UDP sockets.
    #[default]
    Socket,
    /// Packet sockets, which bypass the host's own IP stack.
    Packet,
}

/// A stamp that the probe can take itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Point {
    App,
    Qdisc,
    Stack,
}

/// The means by which stamps were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    /// The sockets themselves: a probe's own, or BPF programs at a service's.
    Socket,
    /// BPF programs at the interface.
    Tcx,
    /// A packet socket's ring.
    Ring,
}

/// The outcome of a scheduled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    Replied,
    /// A closed TCP port answered.
    Closed,
    /// The reply came after `late_ns`.
    Late,
    Lost,
    /// The sender's own kernel did not take it.
    Refused,
    Unsent,
    /// Its TTL was used up at a router.
    Expired,
    /// An answer came that is not its reply: from another address, or with other data.
    Mismatched,
    /// It could still be answered when the client stopped the probe.
    UnderWay,
}

impl Outcome {
    /// Return the name in tables, which is the one in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Replied => "replied",
            Self::Closed => "closed",
            Self::Late => "late",
            Self::Lost => "lost",
            Self::Refused => "refused",
            Self::Unsent => "unsent",
            Self::Expired => "expired",
            Self::Mismatched => "mismatched",
            Self::UnderWay => "under-way",
        }
    }
}

/// Send a probe's packets on a schedule, and record the outcome of each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    /// The number in the probe header.
    pub probe: u32,
    pub protocol: Protocol,
    /// The address to probe; a link-local one with its zone.
    pub to: String,
    /// The source address; chosen by the routing table if left out.
    #[serde(default)]
    pub source: Option<IpAddr>,
    /// The port to probe; 0 for ICMP.
    #[serde(default)]
    pub port: u16,
    /// The ICMP identifier, or the source port; 0 for the system's choice.
    #[serde(default)]
    pub ident: u16,
    pub count: u32,
    /// The time between two packets; 0 for a closed loop.
    pub interval_ns: i64,
    /// The time without a reply after which a closed loop gives its packets up; 0 for 20 ms.
    #[serde(default)]
    pub timeout_ns: i64,
    /// The payload behind the ICMP or UDP header.
    pub size: usize,
    #[serde(default)]
    pub first_seq: u32,
    /// The wait for replies after the last send.
    pub linger_ns: i64,
    /// The time after which a reply is late.
    pub late_ns: i64,
    pub stamps: Vec<Point>,
    /// True to send in real time (SCHED_FIFO) if this is allowed.
    #[serde(default)]
    pub realtime: bool,
    /// The most packets per system call, or under way in a closed loop; 0 for 64.
    #[serde(default)]
    pub batch: u16,
    #[serde(default)]
    pub mode: Mode,
    /// The TTL or hop limit; the system's if left out.
    #[serde(default)]
    pub ttl: Option<u8>,
    /// The type of service or traffic class; the system's if left out. Of TCP's packets the system sets the low 2 bits.
    #[serde(default)]
    pub tos: Option<u8>,
    /// The interface to send and receive by; chosen by the routing table if left out.
    #[serde(default)]
    pub interface: Option<String>,
    /// True to report each packet by an event.
    #[serde(default)]
    pub live: bool,
    /// True to wait for the last replies as ping(8) does: once there is a reply, for twice the largest RTT.
    #[serde(default)]
    pub linger_rtt: bool,
    /// True to resolve the next hop's link-layer address before the first packet.
    #[serde(default)]
    pub resolve: bool,
    /// The number of hops to probe in turn: packet i has the TTL i mod `hops` + 1. 0 for a probe with one TTL.
    #[serde(default)]
    pub hops: u8,
    /// True if programs at the interface may be used.
    #[serde(default = "yes")]
    pub tcx: bool,
    /// The request to a service; for the protocols that make one.
    #[serde(default)]
    pub ask: Option<Box<Ask>>,
    /// The least time between two parts of the tables that are sent while the probe runs; none if left out.
    #[serde(default)]
    pub parts_ns: Option<i64>,
    /// True to send two packets at once each two intervals, by which clocks are compared.
    #[serde(default)]
    pub pairs: bool,
}

pub(super) fn yes() -> bool {
    true
}

/// The end of a probe.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProbeDone {
    pub sent: u32,
    pub replied: u32,
    #[schemars(length(max = 100))]
    pub warnings: Vec<Warning>,
    /// True if it had real-time scheduling.
    pub realtime: bool,
    #[schemars(regex(pattern = super::WORD))]
    pub clock: String,
    /// The means of the `stack` stamps.
    pub by: By,
    /// The time that it took to resolve the next hop; null if there was nothing to resolve.
    #[schemars(range(min = 0))]
    pub neighbour_ns: Option<i64>,
}

/// A doubt about a measurement, in the form of the dataset's warnings.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Warning {
    pub kind: WarningKind,
    pub message: String,
    pub remedy: &'static str,
}

impl Warning {
    /// Build a doubt.
    pub(crate) fn new(kind: WarningKind, message: String, remedy: &'static str) -> Self {
        Self { kind, message, remedy }
    }
}

/// A kind of doubt that the agent itself can have.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WarningKind {
    NotRealtime,
    NoKernelStamps,
    UnattributedError,
    RepliesDropped,
    /// Answers came that are not replies.
    MismatchedReplies,
    /// The sender's clock was set while it sent.
    ClockStep,
}

/// Answer a probe's packets from the address that each was sent to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reflect {
    /// The port to receive at; 0 for any.
    #[serde(default)]
    pub port: u16,
    /// The IP version, 4 or 6.
    pub ip: u8,
    /// True to stamp UDP packets.
    pub stamps: bool,
    /// The probe whose stamps are returned; 0 for all.
    #[serde(default)]
    pub probe: u32,
    /// The number of packets that the probe sends: others have no stamps. 0 for any number.
    #[serde(default)]
    pub packets: u32,
    #[serde(default)]
    pub protocol: Protocol,
}

/// The end of a reflector.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReflectDone {
    /// The packets that it sent back, or the connections that it answered.
    pub reflected: u64,
    /// Packets with the probe's number and a sequence number that the probe does not use.
    #[schemars(default)]
    pub unsent: u64,
}

/// One packet of a live probe: the event `packet`. Fields are null where there is no value.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct LivePacket<'a> {
    pub seq: u32,
    /// The time at which the packet was sent, in ns since the Unix epoch; a request when it was sent on its connection.
    pub sent_ns: Option<i64>,
    /// The time in which the TCP connection of an HTTP request was opened; null on one that was open already.
    pub handshake_ns: Option<i64>,
    /// The source port of a request to a service.
    pub port: Option<u16>,
    /// The time in which TLS was agreed on, after that.
    pub tls_ns: Option<i64>,
    /// The time from a request to the last byte of its answer.
    pub whole_ns: Option<i64>,
    /// The status code of an HTTP answer, or the response code of one of DNS.
    pub status: Option<u16>,
    /// The bytes of an answer's body, or of its datagram.
    pub bytes: Option<u64>,
    /// The round trip between the program's own stamps.
    pub rtt_app_ns: Option<i64>,
    /// The round trip between the kernel's stamps.
    pub rtt_stack_ns: Option<i64>,
    /// The kernel's stamp of the packet that was sent, in ns since the Unix epoch; null without that of its answer.
    #[schemars(default)]
    pub left_ns: Option<i64>,
    /// The time from the intended moment to the sending.
    pub slip_ns: Option<i64>,
    pub outcome: Outcome,
    /// The address that answered, with its zone if it is link-local.
    #[schemars(extend("format" = "ip"))]
    pub from: Option<Cow<'a, str>>,
    /// The TTL or hop limit of the answer.
    pub ttl: Option<u8>,
    pub error: Option<Cow<'a, str>>,
    /// The number of replies beyond the first.
    #[schemars(default)]
    pub duplicates: u16,
}
