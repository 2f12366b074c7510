//! Any bytes are a probe packet or a reason why not.
#![no_main]

use delaylab_wire::{parse, parse_ip};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(sighting) = parse(bytes) {
        let _ = sighting.leg(5001);
    }
    let _ = parse_ip(bytes);
});
