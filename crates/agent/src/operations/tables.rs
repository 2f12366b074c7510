//! The tables of a result, sent in parts.

use std::time::Duration;

use delaylab_proto::{Failure, Frame, Kind, Table};
use delaylab_wire::Leg;

use super::stream_bytes::Run;
use crate::protocol::measuring::Outcome;
use crate::session::Session;
use crate::timing::test_clock::shown;

/// The rows per table frame; at some 20 bytes each a frame stays far below the protocol's limit.
const ROWS: usize = 1 << 20;

/// One stamp: a row of the table `stamps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The number of the packet's probe.
    pub probe: u32,
    /// The packet's sequence number within the probe.
    pub seq: u32,
    /// The half of the round trip.
    pub leg: Leg,
    /// The vantage point, by its place in the list of points.
    pub point: u32,
    /// The time of the packet at the point, in ns since the Unix epoch.
    pub time_ns: i64,
}

/// The outcome of one scheduled packet: a row of the table `packets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    /// The number of the packet's probe.
    pub probe: u32,
    /// The packet's sequence number within the probe.
    pub seq: u32,
    /// The time at which it was to be sent, in ns since the Unix epoch.
    pub intended_ns: i64,
    /// The time at which user space passed it to the kernel; `None` if it never did or the kernel refused it.
    pub sent_ns: Option<i64>,
    pub outcome: Outcome,
    /// The number of replies beyond the first.
    pub duplicates: u16,
    /// True if its reply came after that of a later packet (RFC 4737).
    pub reordered: bool,
    /// The reason why it was lost or refused, if known.
    pub error: Option<&'a str>,
}

/// The facts about one request to a service and its answer: a row of the table `exchanges`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExchangeRow {
    /// The number of the packet's probe.
    pub probe: u32,
    /// The packet's sequence number within the probe.
    pub seq: u32,
    /// The source port.
    pub port: u16,
    /// The TCP sequence numbers of the request's last byte, and of the answer's first and last byte.
    pub asked: Option<u32>,
    pub first: Option<u32>,
    pub last: Option<u32>,
    /// The time in which the connection was opened for it, and that in which TLS was then agreed on.
    pub handshake_ns: Option<i64>,
    pub tls_ns: Option<i64>,
    /// The time from the request to the last byte of the answer.
    pub whole_ns: Option<i64>,
    /// The status code of HTTP, or the response code of DNS.
    pub status: Option<u16>,
    /// The bytes of the answer's body, or of its datagram.
    pub bytes: u64,
}

/// Bytes of a TCP stream that were seen at a point for the first time: a row of the table `segments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentRow {
    /// The number of the probe.
    pub probe: u32,
    /// The port at the sender's end.
    pub port: u16,
    pub leg: Leg,
    /// The TCP sequence number of the first byte, and the number of bytes.
    pub run: Run,
    /// The vantage point, by its place in the list of points.
    pub point: u32,
    /// The time of the bytes at the point, in ns since the Unix epoch.
    pub time_ns: i64,
}

/// Send the table `stamps`, or the rest of it.
pub(super) fn send_stamps(
    session: &mut Session,
    points: &[impl AsRef<str>],
    stamps: impl Iterator<Item = Stamp>,
) -> Result<(), Failure> {
    in_parts(session, stamps, |rows| stamps_table("stamps", points, rows))
}

/// Send a part of the table `stamps` if the client need not be waited for; return false if it must be.
pub(super) fn offer_stamps(
    session: &mut Session,
    points: &[impl AsRef<str>],
    rows: &[Stamp],
) -> Result<bool, Failure> {
    session.offer(&Frame::new(Kind::Table, stamps_table("stamps", points, rows).encode()))
}

fn stamps_table(name: &'static str, points: &[impl AsRef<str>], rows: &[Stamp]) -> Table {
    Table::new(name, rows.len())
        .numbers("probe", rows.iter().map(|row| row.probe))
        .numbers("seq", rows.iter().map(|row| row.seq))
        .numbers("leg", rows.iter().map(|row| row.leg as u8))
        .labels("point", points, rows.iter().map(|row| row.point))
        .numbers("time_ns", rows.iter().map(|row| shown(row.time_ns)))
}

/// Send the table `repeats`: the sightings of packets that their points had seen before.
pub(super) fn send_repeats(
    session: &mut Session,
    points: &[impl AsRef<str>],
    repeats: impl Iterator<Item = Stamp>,
) -> Result<(), Failure> {
    in_parts(session, repeats, |rows| stamps_table("repeats", points, rows))
}

/// Send the table `packets`, or the rest of it.
pub(super) fn send_packets<'a>(
    session: &mut Session,
    packets: impl Iterator<Item = Packet<'a>>,
) -> Result<(), Failure> {
    in_parts(session, packets, packets_table)
}

/// Send a part of the table `packets` if the client need not be waited for; return false if it must be.
pub(super) fn offer_packets(session: &mut Session, rows: &[Packet]) -> Result<bool, Failure> {
    session.offer(&Frame::new(Kind::Table, packets_table(rows).encode()))
}

fn packets_table(rows: &[Packet]) -> Table {
    Table::new("packets", rows.len())
        .numbers("probe", rows.iter().map(|row| row.probe))
        .numbers("seq", rows.iter().map(|row| row.seq))
        .numbers("intended_ns", rows.iter().map(|row| shown(row.intended_ns)))
        .optional("sent_ns", rows.iter().map(|row| row.sent_ns.map(shown)))
        .texts("outcome", rows.iter().map(|row| Some(row.outcome.name())))
        .numbers("duplicates", rows.iter().map(|row| row.duplicates))
        .flags("reordered", rows.iter().map(|row| row.reordered))
        .texts("error", rows.iter().map(|row| row.error))
}

/// Send the table `exchanges`.
pub(super) fn send_exchanges(
    session: &mut Session,
    rows: impl Iterator<Item = ExchangeRow>,
) -> Result<(), Failure> {
    in_parts(session, rows, |rows| {
        Table::new("exchanges", rows.len())
            .numbers("probe", rows.iter().map(|row| row.probe))
            .numbers("seq", rows.iter().map(|row| row.seq))
            .numbers("port", rows.iter().map(|row| row.port))
            .optional("asked", rows.iter().map(|row| row.asked))
            .optional("first", rows.iter().map(|row| row.first))
            .optional("last", rows.iter().map(|row| row.last))
            .optional("handshake_ns", rows.iter().map(|row| row.handshake_ns))
            .optional("tls_ns", rows.iter().map(|row| row.tls_ns))
            .optional("whole_ns", rows.iter().map(|row| row.whole_ns))
            .optional("status", rows.iter().map(|row| row.status))
            .numbers("bytes", rows.iter().map(|row| row.bytes.min(i64::MAX as u64) as i64))
    })
}

/// Send the table `segments`: where bytes of streams were seen first.
pub(super) fn send_segments(
    session: &mut Session,
    points: &[impl AsRef<str>],
    rows: impl Iterator<Item = SegmentRow>,
) -> Result<(), Failure> {
    in_parts(session, rows, |rows| {
        Table::new("segments", rows.len())
            .numbers("probe", rows.iter().map(|row| row.probe))
            .numbers("port", rows.iter().map(|row| row.port))
            .numbers("leg", rows.iter().map(|row| row.leg as u8))
            .numbers("sequence", rows.iter().map(|row| row.run.sequence))
            .numbers("length", rows.iter().map(|row| row.run.length))
            .labels("point", points, rows.iter().map(|row| row.point))
            .numbers("time_ns", rows.iter().map(|row| shown(row.time_ns)))
    })
}

/// Return a time in whole nanoseconds.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Send rows in frames of at most [`ROWS`]; a table without rows is one empty frame.
pub(super) fn in_parts<Row>(
    session: &mut Session,
    mut rows: impl Iterator<Item = Row>,
    table: impl Fn(&[Row]) -> Table,
) -> Result<(), Failure> {
    let mut part: Vec<Row> = rows.by_ref().take(ROWS).collect();
    loop {
        session.frame(&Frame::new(Kind::Table, table(&part).encode()))?;
        part.clear();
        part.extend(rows.by_ref().take(ROWS));
        if part.is_empty() {
            return Ok(());
        }
    }
}
