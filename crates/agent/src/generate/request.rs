//! What a generator is asked for.

use std::net::Ipv4Addr;

use delaylab_proto::Failure;
use delaylab_wire::{ETHERNET_HEADER, IPV4_HEADER, UDP_HEADER};
use serde::Deserialize;

use crate::mac::Mac;

/// The shortest frame: headers, and behind them Ethernet's padding (60 bytes, 64 with the check sequence).
const SHORTEST: usize = 60;
const LONGEST: usize = 9014;

/// `{"op": "generate", …}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Frames are of these in turn.
    pub flows: Vec<Flow>,
    /// The number in the probe's header, if frames have room for one.
    pub probe: u32,
    pub count: u32,
    /// From one frame to the next; 0: as fast as can be.
    pub interval_ns: u64,
    /// Bytes of a frame from its Ethernet header on, without check sequence.
    pub size: usize,
    /// The UDP port to send to, and from.
    pub port: u16,
    /// At most so many frames in one system call.
    #[serde(default = "sixty_four")]
    pub batch: usize,
    #[serde(default)]
    pub realtime: bool,
}

/// Where frames go.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The interface to send by.
    pub interface: String,
    pub to_mac: Mac,
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
}

impl Request {
    pub fn check(&self) -> Result<(), Failure> {
        let wrong = |why: String| Err(Failure::new("generate frames", why));
        if self.flows.is_empty() {
            return wrong("no flow is given".into());
        }
        if !(SHORTEST..=LONGEST).contains(&self.size) {
            return wrong(format!("{} bytes are not {SHORTEST} to {LONGEST}", self.size));
        }
        if !(1..=1024).contains(&self.batch) {
            return wrong(format!("a batch of {} is not 1 to 1024", self.batch));
        }
        Ok(())
    }
}

/// Where the probe's header begins.
pub const PAYLOAD: usize = ETHERNET_HEADER + IPV4_HEADER + UDP_HEADER;

fn sixty_four() -> usize {
    64
}
