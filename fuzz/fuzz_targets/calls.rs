//! The libFuzzer target for logs of recorded processes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = delaylab_fuzz_targets::calls::run(bytes);
});
