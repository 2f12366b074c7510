//! Any bytes are frames of the protocol, an end or an error; what was read writes back the same.
#![no_main]

use delaylab_proto::{read_frame, write_frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut read = 0;
    while let Ok(Some(frame)) = read_frame(&mut rest) {
        let mut written = Vec::new();
        write_frame(&mut written, &frame).expect("what was read is within the limits");
        let end = bytes.len() - rest.len();
        assert_eq!(written, &bytes[read..end]);
        read = end;
    }
});
