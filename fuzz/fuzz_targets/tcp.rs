//! The libFuzzer target for captured TCP segments.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = delaylab_fuzz_targets::tcp::run(bytes);
});
