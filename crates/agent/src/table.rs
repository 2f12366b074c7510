//! Result tables in the protocol's format: Arrow IPC streams in table frames.

use crate::session::Session;
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray, UInt8Array,
    UInt16Array, UInt32Array,
};
use arrow_ipc::writer::StreamWriter;
use delaylab_proto::{Failure, Frame, Kind};
use delaylab_wire::Leg;
use std::sync::Arc;

/// The rows per table frame; at some 20 bytes each a frame stays far below the protocol's limit.
const ROWS: usize = 1 << 20;

/// One stamp: a row of the table `stamps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
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

/// The fate of one scheduled packet: a row of the table `packets`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The number of the packet's probe.
    pub probe: u32,
    /// The packet's sequence number within the probe.
    pub seq: u32,
    /// The time at which it was to be sent, in ns since the Unix epoch.
    pub intended_ns: i64,
    /// The time at which user space passed it to the kernel; `None` if it never did or the kernel refused it.
    pub sent_ns: Option<i64>,
    /// The outcome: `replied`, `late`, `lost`, `refused` or `unsent`.
    pub outcome: &'static str,
    /// The number of replies beyond the first.
    pub duplicates: u16,
    /// True if its reply came after that of a later packet (RFC 4737).
    pub reordered: bool,
    /// The reason why it was lost or refused, if known.
    pub error: Option<&'a str>,
}

/// Send the table `stamps`.
pub fn send_stamps(
    session: &mut Session,
    points: &[impl AsRef<str>],
    stamps: impl Iterator<Item = Stamp>,
) -> Result<(), Failure> {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(points));
    in_parts(session, "stamps", stamps, |rows| {
        let point = UInt32Array::from_iter_values(rows.iter().map(|row| row.point));
        let point = DictionaryArray::<UInt32Type>::try_new(point, Arc::clone(&names))?;
        RecordBatch::try_from_iter([
            ("probe", column(UInt32Array::from_iter_values(rows.iter().map(|row| row.probe)))),
            ("seq", column(UInt32Array::from_iter_values(rows.iter().map(|row| row.seq)))),
            ("leg", column(UInt8Array::from_iter_values(rows.iter().map(|row| row.leg as u8)))),
            ("point", column(point)),
            ("time_ns", column(Int64Array::from_iter_values(rows.iter().map(|row| row.time_ns)))),
        ])
    })
}

/// Send the table `packets`.
pub fn send_packets<'a>(
    session: &mut Session,
    packets: impl Iterator<Item = Packet<'a>>,
) -> Result<(), Failure> {
    in_parts(session, "packets", packets, |rows| {
        let intended = rows.iter().map(|row| row.intended_ns);
        let outcome = rows.iter().map(|row| row.outcome);
        let duplicates = rows.iter().map(|row| row.duplicates);
        let reordered: Vec<bool> = rows.iter().map(|row| row.reordered).collect();
        let sent: Int64Array = rows.iter().map(|row| row.sent_ns).collect();
        let error: StringArray = rows.iter().map(|row| row.error).collect();
        RecordBatch::try_from_iter_with_nullable([
            ("probe", column(UInt32Array::from_iter_values(rows.iter().map(|r| r.probe))), false),
            ("seq", column(UInt32Array::from_iter_values(rows.iter().map(|r| r.seq))), false),
            ("intended_ns", column(Int64Array::from_iter_values(intended)), false),
            ("sent_ns", column(sent), true),
            ("outcome", column(StringArray::from_iter_values(outcome)), false),
            ("duplicates", column(UInt16Array::from_iter_values(duplicates)), false),
            ("reordered", column(BooleanArray::from(reordered)), false),
            ("error", column(error), true),
        ])
    })
}

fn column(array: impl arrow_array::Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// Send rows in frames of at most [`ROWS`]. A table without rows is one empty frame.
fn in_parts<Row>(
    session: &mut Session,
    name: &str,
    mut rows: impl Iterator<Item = Row>,
    batch: impl Fn(&[Row]) -> Result<RecordBatch, arrow_schema::ArrowError>,
) -> Result<(), Failure> {
    let mut part: Vec<Row> = rows.by_ref().take(ROWS).collect();
    loop {
        let payload = batch(&part)
            .and_then(|batch| encode(name, &batch))
            .map_err(|error| Failure::new(format!("write table {name}"), error))?;
        session.frame(&Frame::new(Kind::Table, payload))?;
        part.clear();
        part.extend(rows.by_ref().take(ROWS));
        if part.is_empty() {
            return Ok(());
        }
    }
}

/// Encode a table frame's payload: `[name length: u8][name][Arrow IPC stream]`.
fn encode(name: &str, batch: &RecordBatch) -> Result<Vec<u8>, arrow_schema::ArrowError> {
    let mut payload = vec![name.len() as u8];
    payload.extend_from_slice(name.as_bytes());
    let mut writer = StreamWriter::try_new(payload, &batch.schema())?;
    writer.write(batch)?;
    writer.into_inner()
}
