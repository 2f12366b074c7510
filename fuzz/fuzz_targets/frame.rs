//! Any bytes are frames of the protocol, an end or an error; what was read writes back the same.
#![no_main]

use delaylab_proto::{read_frame, split_frame, write_frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut read = 0;
    loop {
        let split = split_frame(rest);
        let Ok(Some(frame)) = read_frame(&mut rest) else {
            assert!(!matches!(split, Ok(Some(_))), "a frame that cannot be read");
            return;
        };
        let (same, length) = split.expect("no error").expect("a whole frame");
        assert_eq!((same, length), (frame.clone(), bytes.len() - rest.len() - read));
        let mut written = Vec::new();
        write_frame(&mut written, &frame).expect("what was read is within the limits");
        let end = bytes.len() - rest.len();
        assert_eq!(written, &bytes[read..end]);
        read = end;
    }
});
