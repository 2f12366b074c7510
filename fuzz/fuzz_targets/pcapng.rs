//! The libFuzzer target for captures.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = delaylab_fuzz_targets::pcapng::run(bytes);
});
