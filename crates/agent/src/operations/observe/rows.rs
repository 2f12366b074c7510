//! The tables of an observation, sent in parts while it runs.

use delaylab_proto::{Failure, Frame, Kind, Table};

use super::known::{Known, KnownHop};
use crate::session::Session;

/// The most rows of one part that a stream takes at once, and of one that it is waited for.
const PART: usize = 150;
const LARGE_PART: usize = 1 << 18;
/// The most texts and next hops of one part that a stream takes at once.
const PART_OF_TEXTS: usize = 45;
/// The most rows that wait for a client: 2 GB.
const MOST: usize = 1 << 26;

/// A change of a table, of an interface, or of what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A prefix leads to another set of next hops; `None` if it has no route any more.
    Route { prefix: u32, hops: Option<u32> },
    /// An interface has another state; one that is gone has neither.
    Link { name: u32, admin_up: bool, carrier: bool },
    /// Messages of the kernel were lost, and the node's tables were read again.
    Lost,
}

/// A row of the table `changes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub time_ns: i64,
    /// The place of the node in the request.
    pub node: u32,
    pub what: What,
}

impl Row {
    /// Return the numbers of the columns `kind`, `what` and `value`.
    fn columns(&self) -> (u8, u32, Option<u32>) {
        match self.what {
            What::Route { prefix, hops } => (0, prefix, hops),
            What::Link { name, admin_up, carrier } => {
                (1, name, Some(u32::from(admin_up) | u32::from(carrier) << 1))
            }
            What::Lost => (2, 0, None),
        }
    }
}

/// Send all rows, after the texts and sets that they name; wait for the client.
pub(super) fn send(
    session: &mut Session,
    known: &mut Known,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    for texts in known.new_texts.chunks(LARGE_PART) {
        session.frame(&frame(texts_table(texts)))?;
    }
    for hops in known.new_hops.chunks(LARGE_PART) {
        session.frame(&frame(hops_table(hops)))?;
    }
    for part in rows.chunks(LARGE_PART) {
        session.frame(&frame(rows_table(part)))?;
    }
    known.new_texts.clear();
    known.new_hops.clear();
    rows.clear();
    Ok(())
}

/// Send what the stream takes without waiting for the client.
pub(super) fn offer(
    session: &mut Session,
    known: &mut Known,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    if rows.len() > MOST {
        return Err(Failure::new("observe", "the client does not read what it asked for"));
    }
    let all = offer_parts(session, &mut known.new_texts, PART_OF_TEXTS, texts_table)?
        && offer_parts(session, &mut known.new_hops, PART_OF_TEXTS, hops_table)?;
    if all {
        offer_parts(session, rows, PART, rows_table)?;
    }
    Ok(())
}

/// Send rows in parts while the stream has room, and remove them; return true if all were sent.
fn offer_parts<Row>(
    session: &mut Session,
    rows: &mut Vec<Row>,
    part: usize,
    table: impl Fn(&[Row]) -> Table,
) -> Result<bool, Failure> {
    let mut sent = 0;
    for part in rows.chunks(part) {
        if !session.offer(&frame(table(part)))? {
            break;
        }
        sent += part.len();
    }
    rows.drain(..sent);
    Ok(rows.is_empty())
}

fn frame(table: Table) -> Frame {
    Frame::new(Kind::Table, table.encode())
}

fn texts_table(texts: &[(u32, String)]) -> Table {
    Table::new("texts", texts.len())
        .numbers("number", texts.iter().map(|(number, _)| *number))
        .texts("text", texts.iter().map(|(_, text)| Some(text.as_str())))
}

fn hops_table(hops: &[(u32, KnownHop)]) -> Table {
    let gateways: Vec<Option<String>> =
        hops.iter().map(|(_, (_, gateway))| gateway.map(|gateway| gateway.to_string())).collect();
    Table::new("hops", hops.len())
        .numbers("set", hops.iter().map(|(set, _)| *set))
        .numbers("device", hops.iter().map(|(_, (device, _))| *device))
        .texts("gateway", gateways.iter().map(Option::as_deref))
}

fn rows_table(rows: &[Row]) -> Table {
    let columns = rows.iter().map(Row::columns);
    Table::new("changes", rows.len())
        .numbers("time_ns", rows.iter().map(|row| row.time_ns))
        .numbers("node", rows.iter().map(|row| row.node))
        .numbers("kind", columns.clone().map(|(kind, ..)| kind))
        .numbers("what", columns.clone().map(|(_, what, _)| what))
        .optional("value", columns.map(|(.., value)| value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_fits_what_a_stream_takes_at_once() {
        const AT_ONCE: usize = 4096 - 7;
        let what = What::Route { prefix: u32::MAX, hops: Some(u32::MAX) };
        let rows = vec![Row { time_ns: i64::MAX, node: u32::MAX, what }; PART];
        assert!(rows_table(&rows).encode().len() <= AT_ONCE);
        let text = |number: u32| format!("2001:db8:1111:2222:3333:4444:5555:{number:x}/128");
        let texts: Vec<_> = (0xff00..).take(PART_OF_TEXTS).map(|it| (it, text(it))).collect();
        assert!(texts_table(&texts).encode().len() <= AT_ONCE);
        let via = |number: u32| text(number).trim_end_matches("/128").parse().unwrap();
        let hops: Vec<_> =
            (0xff00..).take(PART_OF_TEXTS).map(|it| (it, (it, Some(via(it))))).collect();
        assert!(hops_table(&hops).encode().len() <= AT_ONCE);
    }
}
