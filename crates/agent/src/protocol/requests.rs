//! All operations of an agent by name: what a client asks, and what it gets.

use delaylab_proto::{Failure, FailureKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cpus::{Cpus, CpusDone};
use super::crossing::{AwaitFrames, AwaitFramesDone, SendFrames, SendFramesDone};
use super::generating::{Discard, DiscardDone, Generate, GenerateDone};
use super::hiccups::{Hiccups, HiccupsDone};
use super::lab::Setup;
use super::links::{
    EngineReport, LinkPace, LinkRestart, LinkSet, LinkSetDone, LinkTimeline, Links,
};
use super::machine::{
    DescribeMachine, DescribeMachineDone, EndLab, LabFiles, LabFilesDone, Labs, LabsDone,
    Processes, ProcessesDone, Stored, StoredDone, Sweep, SweepDone,
};
use super::measuring::{Probe, ProbeDone, Reflect, ReflectDone};
use super::network::{
    Addresses, AddressesDone, Carrier, Counters, CountersDone, FindRoute, FindRouteDone,
    Neighbours, Queues, QueuesDone, Watch, WatchDone,
};
use super::observing::{Observe, ObserveDone};
use super::passages::{LinkPassages, LinkPassagesDone};
use super::programs::{
    Clock, ClockDone, Compute, ComputeDone, Exec, ExecDone, Hello, HelloDone, Nothing,
};
use super::starting::{
    Control, ControlDone, EndProgram, EndProgramDone, Notify, Output, Programs, ProgramsDone,
    Record, RecordDone, Schedule, Scheduled, ScheduledDone, Start, StartDone,
};
use super::tapping::{Tap, TapDone};

/// An operation: its fields in a request, and what the agent sends for it.
pub(crate) trait Operation: JsonSchema {
    /// The answer to a request that has succeeded.
    type Done: Serialize + JsonSchema;
    /// The name: the field `op` of a request.
    const NAME: &'static str;
    /// The events that are sent while it runs.
    const EVENTS: &'static [&'static str];
    /// The tables of its result, which are sent before the answer.
    const TABLES: &'static [&'static str];
}

/// A visitor of all operations.
pub(crate) trait Visit {
    /// Visit one operation.
    fn visit<O: Operation>(&mut self);
}

macro_rules! operations {
    ($($name:literal: $kind:ident => $done:ty, events $events:tt, tables $tables:tt;)*) => {
        /// A request to an agent.
        #[derive(Deserialize)]
        #[serde(tag = "op")]
        pub(crate) enum Request {
            $(#[serde(rename = $name)] $kind($kind),)*
        }

        $(impl Operation for $kind {
            type Done = $done;
            const NAME: &'static str = $name;
            const EVENTS: &'static [&'static str] = &$events;
            const TABLES: &'static [&'static str] = &$tables;
        })*

        impl Request {
            const NAMES: &[&str] = &[$($name),*];

            /// Visit all operations, in the order of the table above.
            pub(crate) fn visit(visitor: &mut impl Visit) {
                $(visitor.visit::<$kind>();)*
            }
        }
    };
}

operations! {
    "hello": Hello => HelloDone, events [], tables [];
    "exec": Exec => ExecDone, events ["ready", "started", "used"], tables [];
    "start": Start => StartDone, events [], tables [];
    "programs": Programs => ProgramsDone, events [], tables [];
    "output": Output => Nothing, events [], tables [];
    "end": EndProgram => EndProgramDone, events [], tables [];
    "notify": Notify => Nothing, events [], tables [];
    "control": Control => ControlDone, events [], tables [];
    "schedule": Schedule => Nothing, events [], tables [];
    "scheduled": Scheduled => ScheduledDone, events [], tables [];
    "record": Record => RecordDone, events ["ready", "used"], tables [];
    "compute": Compute => ComputeDone, events ["ready"], tables ["progress"];
    "probe": Probe => ProbeDone, events ["ready", "packet"], tables ["stamps", "packets", "exchanges"];
    "generate": Generate => GenerateDone, events ["ready"], tables [];
    "discard": Discard => DiscardDone, events ["ready"], tables [];
    "send-frames": SendFrames => SendFramesDone, events ["ready"], tables [];
    "await-frames": AwaitFrames => AwaitFramesDone, events ["ready"], tables [];
    "reflect": Reflect => ReflectDone, events ["ready"], tables ["stamps"];
    "tap": Tap => TapDone, events ["ready", "paused"], tables ["stamps", "repeats", "segments"];
    "watch": Watch => WatchDone, events ["ready"], tables ["hosts"];
    "hiccups": Hiccups => HiccupsDone, events ["ready"], tables ["hosts", "hiccups"];
    "cpus": Cpus => CpusDone, events ["ready"], tables ["cpus", "tasks", "retransmissions", "drops"];
    "observe": Observe => ObserveDone, events ["ready"], tables ["texts", "hops", "changes"];
    "counters": Counters => CountersDone, events [], tables [];
    "queues": Queues => QueuesDone, events [], tables [];
    "clock": Clock => ClockDone, events [], tables [];
    "addresses": Addresses => AddressesDone, events [], tables [];
    "route": FindRoute => FindRouteDone, events [], tables [];
    "neighbours": Neighbours => Nothing, events [], tables [];
    "carrier": Carrier => Nothing, events [], tables [];
    "setup": Setup => Nothing, events [], tables [];
    "links": Links => EngineReport, events [], tables [];
    "link-set": LinkSet => LinkSetDone, events [], tables [];
    "link-timeline": LinkTimeline => Nothing, events [], tables [];
    "link-pace": LinkPace => Nothing, events [], tables [];
    "link-passages": LinkPassages => LinkPassagesDone, events [], tables [];
    "link-restart": LinkRestart => Nothing, events [], tables [];
    "machine": DescribeMachine => DescribeMachineDone, events [], tables [];
    "processes": Processes => ProcessesDone, events [], tables [];
    "stored": Stored => StoredDone, events [], tables [];
    "labs": Labs => LabsDone, events [], tables [];
    "lab-files": LabFiles => LabFilesDone, events [], tables [];
    "end-lab": EndLab => Nothing, events [], tables [];
    "sweep": Sweep => SweepDone, events [], tables [];
}

/// The remedy for a request that this agent does not know.
const OTHER_VERSION: &str = "delaylab and this agent are of different versions: install delaylab anew, and take the lab down and up";

impl Request {
    /// Read a request. Unknown operations and fields are refused: only another version of delaylab sends them.
    pub(crate) fn read(message: Value) -> Result<Self, Failure> {
        let name = name(&message);
        let name = name.ok_or_else(|| Failure::new("read a request", "it has no `op`"))?.to_owned();
        if !Self::NAMES.contains(&name.as_str()) {
            let failure = Failure::new(format!("do `{name}`"), "this agent has no such operation");
            return Err(of_other_version(failure));
        }
        Self::deserialize(message)
            .map_err(|error| unread(format!("read the request `{name}`"), &error))
    }
}

/// Return the failure to read a request. JSON in another form than that of a request is another version's.
pub(crate) fn unread(what: impl Into<String>, error: &serde_json::Error) -> Failure {
    let failure = Failure::new(what, error);
    if error.is_data() { of_other_version(failure) } else { failure }
}

fn of_other_version(failure: Failure) -> Failure {
    failure.kind(FailureKind::OtherVersion).fix(OTHER_VERSION)
}

/// Return the name of the operation that a message asks for.
pub(crate) fn name(message: &Value) -> Option<&str> {
    message.get("op").and_then(Value::as_str)
}

/// A request as it is sent.
#[derive(Serialize)]
pub(crate) struct Sent<'a, O> {
    op: &'static str,
    #[serde(flatten)]
    fields: &'a O,
}

impl<'a, O: Operation> From<&'a O> for Sent<'a, O> {
    fn from(fields: &'a O) -> Self {
        Self { op: O::NAME, fields }
    }
}
