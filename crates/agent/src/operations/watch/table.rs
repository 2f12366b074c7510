//! The table `hosts`: one row for each metric of each place at each sample.

use delaylab_proto::{Failure, Frame, Kind, Table};

use crate::session::Session;

/// The number of rows at which a part is sent, of about a megabyte.
const LARGE: usize = 20_000;

/// The rows that were not sent yet.
#[derive(Default)]
pub(super) struct Samples {
    now: i64,
    time: Vec<i64>,
    place: Vec<String>,
    metric: Vec<String>,
    value: Vec<f64>,
}

impl Samples {
    /// Begin a sample, taken at `time_ns` since the Unix epoch.
    pub(super) fn start(&mut self, time_ns: i64) {
        self.now = time_ns;
    }

    /// Add one value to the sample.
    pub(super) fn add(&mut self, place: &str, metric: impl Into<String>, value: f64) {
        self.time.push(self.now);
        self.place.push(place.to_owned());
        self.metric.push(metric.into());
        self.value.push(value);
    }

    /// Send a part of the table if there are enough rows.
    pub(super) fn send_if_large(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.time.len() >= LARGE { self.send(session) } else { Ok(()) }
    }

    /// Send all buffered rows.
    pub(super) fn send(&mut self, session: &mut Session) -> Result<(), Failure> {
        let now = self.now;
        let rows = std::mem::replace(self, Self { now, ..Self::default() });
        let table = Table::new("hosts", rows.time.len())
            .numbers("time_ns", rows.time.iter().copied())
            .texts("place", texts(&rows.place))
            .texts("metric", texts(&rows.metric))
            .numbers("value", rows.value.iter().copied());
        session.frame(&Frame::new(Kind::Table, table.encode()))
    }
}

fn texts(values: &[String]) -> impl Iterator<Item = Option<&str>> {
    values.iter().map(|text| Some(text.as_str()))
}
