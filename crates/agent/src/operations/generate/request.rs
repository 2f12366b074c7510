//! The request `generate`.

use std::net::Ipv4Addr;

use delaylab_proto::Failure;
use delaylab_wire::{ETHERNET_HEADER, IPV4_HEADER, UDP_HEADER};
use serde::Deserialize;

use crate::network::mac::Mac;

/// The length of the shortest frame: the headers and Ethernet's padding (60 bytes, 64 with the check
/// sequence).
const SHORTEST: usize = 60;
const LONGEST: usize = 9014;

/// The request `{"op": "generate", …}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The flows, which take turns frame by frame.
    pub flows: Vec<Flow>,
    /// The probe number in the probe header, if frames have room for one.
    pub probe: u32,
    pub count: u32,
    /// The interval between frames; 0 sends as fast as possible.
    pub interval_ns: u64,
    /// The length of a frame in bytes, from its Ethernet header on, without check sequence.
    pub size: usize,
    /// The UDP source and destination port.
    pub port: u16,
    /// The maximum number of frames per system call.
    #[serde(default = "sixty_four")]
    pub batch: usize,
    #[serde(default)]
    pub realtime: bool,
}

/// The path of a flow's frames.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The egress interface.
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

/// The offset of the probe header in a frame.
pub const PAYLOAD: usize = ETHERNET_HEADER + IPV4_HEADER + UDP_HEADER;

fn sixty_four() -> usize {
    64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let flow = json!({"interface": "eth0", "to_mac": "02:0:0:0:0:1", "from": "10.0.0.1", "to": "10.0.0.2"});
        let good = json!({"flows": [flow], "probe": 1, "count": 1, "interval_ns": 0, "size": 60, "port": 9});
        let check = |field: &str, value: serde_json::Value| {
            let mut request = good.clone();
            request[field] = value;
            serde_json::from_value::<Request>(request).unwrap().check().map_err(|error| error.why)
        };
        assert_eq!(check("size", json!(9014)), Ok(()));
        for (field, value, why) in [
            ("flows", json!([]), "no flow is given"),
            ("size", json!(59), "59 bytes are not 60 to 9014"),
            ("size", json!(9015), "9015 bytes are not 60 to 9014"),
            ("batch", json!(0), "a batch of 0 is not 1 to 1024"),
        ] {
            assert_eq!(check(field, value), Err(why.to_owned()));
        }
    }
}
