//! The libFuzzer target for the protocol's frames.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = delaylab_fuzz_targets::frame::run(bytes);
});
