//! The libFuzzer target for captured packets.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = delaylab_fuzz_targets::packet::run(bytes);
});
