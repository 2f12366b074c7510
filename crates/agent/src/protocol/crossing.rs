//! Requests that try whether frames get from one machine to another, by the interfaces of links. Sizes are in bytes,
//! without the Ethernet header.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mac::Mac;

/// Send frames until `stop`: at once, and again after 0.1 s, 0.2 s, 0.4 s and so on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendFrames {
    /// The number that all frames of this trial bear.
    pub nonce: u64,
    pub frames: Vec<CrossingFrame>,
    /// The number of times that they are sent.
    pub rounds: u32,
}

/// A frame of a trial.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrossingFrame {
    pub number: u32,
    /// The interface by which it leaves.
    pub by: String,
    pub source: Mac,
    pub to: Mac,
    /// 46 to 65535.
    pub size: usize,
}

/// The end of sending.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SendFramesDone {
    /// The frames that the kernel took, those sent again included.
    pub sent: u64,
}

/// Wait for frames of a trial, until all have arrived or the time is over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AwaitFrames {
    /// The number that all frames of this trial bear.
    pub nonce: u64,
    pub frames: Vec<AwaitedFrame>,
    /// The longest wait.
    pub timeout_ns: u64,
}

/// A frame that is waited for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AwaitedFrame {
    pub number: u32,
    /// The interface by which it arrives.
    pub by: String,
}

/// The end of waiting.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AwaitFramesDone {
    /// The numbers of the frames that have arrived whole, by the interface where they were awaited.
    #[schemars(length(max = 1_000_000))]
    pub arrived: Vec<u32>,
}
