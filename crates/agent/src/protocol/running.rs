//! Messages while a request runs: orders of the client, events of the agent.

use delaylab_proto::{Context, Failure};
use schemars::JsonSchema;
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::cpus::Window;
use super::measuring::LivePacket;

/// An order of the client to a running request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// End regularly, with the results so far.
    #[serde(with = "only_true")]
    #[schemars(with = "bool")]
    Stop,
    /// Begin what `hold` held back.
    #[serde(with = "only_true")]
    #[schemars(with = "bool")]
    Go,
    /// Let the lab live on without this client, also when it has gone.
    #[serde(with = "only_true")]
    #[schemars(with = "bool")]
    Keep,
    /// Stop (true) or resume (false) to record; the request goes on.
    Pause(bool),
    /// Send this signal to the command.
    Signal(#[serde(deserialize_with = "signal")] i32),
    /// Count this many bytes of the command's output as used.
    Used(u64),
    /// Send what was recorded between these times.
    Window(Window),
    /// Send the packets that the kernel dropped between these times.
    Drops(Window),
    /// Write these bytes of a `stdin` frame to the command's standard input; no bytes close it.
    #[serde(skip)]
    Stdin(Vec<u8>),
    /// Stop and kill what was started, because the client has gone.
    #[serde(skip)]
    Closed,
}

impl Order {
    const NAMES: [&str; 8] = ["stop", "go", "keep", "pause", "signal", "used", "window", "drops"];

    /// Read the order in a message; return `None` if it is a request.
    pub(crate) fn read(message: &Value) -> Result<Option<Self>, Failure> {
        let named = |name: &&str| message.get(name).is_some();
        if message.get("op").is_some() || !Self::NAMES.iter().any(named) {
            return Ok(None);
        }
        Self::deserialize(message).map(Some).context("read an order")
    }
}

/// Orders in the order in which they were given.
pub(crate) type Orders = Vec<Order>;

/// The value of an order that has no other.
mod only_true {
    use super::{Deserialize, Deserializer, Error, Serializer, Unexpected};

    pub(super) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<(), D::Error> {
        if bool::deserialize(deserializer)? {
            return Ok(());
        }
        Err(D::Error::invalid_value(Unexpected::Bool(false), &"true"))
    }
}

fn signal<'a, D: Deserializer<'a>>(deserializer: D) -> Result<i32, D::Error> {
    match i32::deserialize(deserializer)? {
        number @ 1..=64 => Ok(number),
        number => Err(D::Error::invalid_value(
            Unexpected::Signed(number.into()),
            &"a signal's number, 1 to 64",
        )),
    }
}

/// An event of a running request.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Event<'a> {
    /// All is prepared.
    Ready(Ready),
    /// The command runs, with this process id.
    Started(i32),
    /// The command has read this many bytes of its input, or will read no more.
    Used(u64),
    /// The taps are off their interfaces (true), or back on them (false).
    Paused(bool),
    /// The outcome of a packet of a live probe.
    Packet(LivePacket<'a>),
    /// All records of this window were sent.
    Recorded(Window),
    /// The machine has read this many bytes of its serial line.
    Read(u64),
    /// The agent in a machine serves sessions.
    #[serde(untagged)]
    Machine {
        ready: bool,
        /// The most bytes that may be under way to it.
        window: Option<u64>,
    },
}

/// The form of the event `ready`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Ready {
    Prepared(bool),
    /// The port that was bound.
    Listening {
        #[schemars(range(min = 1))]
        port: u16,
    },
}

impl Event<'_> {
    /// The event of a request that has prepared everything.
    pub(crate) const READY: Self = Event::Ready(Ready::Prepared(true));

    /// Build the event of a request that listens at a port.
    pub(crate) fn listening(port: u16) -> Self {
        Event::Ready(Ready::Listening { port })
    }
}
