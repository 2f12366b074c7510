//! The protocol as JSON Schema: what the agent reads, and what it writes.

use delaylab_link::{Bound, bounds};
use delaylab_proto::{Context, Failure};
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value};

use super::built::BuildDone;
use super::lab::Build;
use super::requests::{Operation, Request, Visit};
use super::running::{Event, Order};

/// The messages of the protocol by their types, which the two lists of definitions describe.
#[derive(Serialize)]
struct Protocol {
    operations: Map<String, Value>,
    build: Described,
    order: Schema,
    event: Schema,
    failure: Schema,
    /// The bounds and the defaults of conditions.
    bounds: Vec<Bound>,
    /// The types that the agent reads.
    read: Map<String, Value>,
    /// The types that it writes.
    written: Map<String, Value>,
}

/// An operation.
#[derive(Serialize)]
struct Described {
    request: Schema,
    done: Schema,
    events: &'static [&'static str],
    tables: &'static [&'static str],
}

/// The types described so far. What may be left out differs between reading and writing.
struct Types {
    read: SchemaGenerator,
    written: SchemaGenerator,
    operations: Map<String, Value>,
}

impl Visit for Types {
    fn visit<O: Operation>(&mut self) {
        let described = Described {
            request: self.read.subschema_for::<O>(),
            done: self.written.subschema_for::<O::Done>(),
            events: O::EVENTS,
            tables: O::TABLES,
        };
        let described = serde_json::to_value(described).expect("schemas are JSON");
        self.operations.insert(O::NAME.to_owned(), described);
    }
}

/// Print the protocol; `of_kernel` are the bounds of the kernel's queues.
pub(crate) fn print(of_kernel: Vec<Bound>) -> Result<(), Failure> {
    let settings = SchemaSettings::draft2020_12;
    let mut types = Types {
        read: settings().for_deserialize().into_generator(),
        written: settings().for_serialize().into_generator(),
        operations: Map::new(),
    };
    Request::visit(&mut types);
    let protocol = Protocol {
        build: Described {
            request: types.read.subschema_for::<Build>(),
            done: types.written.subschema_for::<BuildDone>(),
            events: &[],
            tables: &[],
        },
        order: types.read.subschema_for::<Order>(),
        event: types.written.subschema_for::<Event>(),
        failure: types.written.subschema_for::<Failure>(),
        bounds: bounds().into_iter().chain(of_kernel).collect(),
        operations: types.operations,
        read: types.read.take_definitions(true),
        written: types.written.take_definitions(true),
    };
    let text = serde_json::to_string_pretty(&protocol).context("describe the protocol")?;
    println!("{text}");
    Ok(())
}
