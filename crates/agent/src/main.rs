//! `delaylab-agent`: the one binary.
fn main() {}
