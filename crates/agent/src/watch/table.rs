//! The table `hosts`: one row for each metric of each place at each sample.

use std::sync::Arc;

use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use delaylab_proto::{Failure, Frame, Kind};

use crate::session::Session;

/// The number of rows at which a part is sent, of about a megabyte.
const LARGE: usize = 20_000;
const NAME: &str = "hosts";

/// The rows that were not sent yet.
#[derive(Default)]
pub struct Samples {
    now: i64,
    time: Vec<i64>,
    place: Vec<String>,
    metric: Vec<String>,
    value: Vec<f64>,
}

impl Samples {
    /// Begin a sample, taken at `time_ns` since the Unix epoch.
    pub fn start(&mut self, time_ns: i64) {
        self.now = time_ns;
    }

    /// Add one value to the sample.
    pub fn add(&mut self, place: &str, metric: impl Into<String>, value: f64) {
        self.time.push(self.now);
        self.place.push(place.to_owned());
        self.metric.push(metric.into());
        self.value.push(value);
    }

    /// Send a part of the table if there are enough rows.
    pub fn send_if_large(&mut self, session: &mut Session) -> Result<(), Failure> {
        if self.time.len() >= LARGE { self.send(session) } else { Ok(()) }
    }

    /// Send all buffered rows.
    pub fn send(&mut self, session: &mut Session) -> Result<(), Failure> {
        let now = self.now;
        let rows = std::mem::replace(self, Self { now, ..Self::default() });
        let mut payload = vec![NAME.len() as u8];
        payload.extend(NAME.bytes());
        rows.write(&mut payload).map_err(|error| Failure::new("write the table hosts", error))?;
        session.frame(&Frame::new(Kind::Table, payload))
    }

    fn write(self, to: &mut Vec<u8>) -> Result<(), ArrowError> {
        let field = |name, kind| Field::new(name, kind, false);
        let schema = Arc::new(Schema::new(vec![
            field("time_ns", DataType::Int64),
            field("place", DataType::Utf8),
            field("metric", DataType::Utf8),
            field("value", DataType::Float64),
        ]));
        let batch = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![
                Arc::new(Int64Array::from(self.time)),
                Arc::new(StringArray::from(self.place)),
                Arc::new(StringArray::from(self.metric)),
                Arc::new(Float64Array::from(self.value)),
            ],
        )?;
        let mut writer = StreamWriter::try_new(to, &schema)?;
        writer.write(&batch)?;
        writer.finish()
    }
}
