//! The pieces that users of BPF programs share: the programs' memory and the loader's errors. The
//! programs themselves, in C, are in `crates/os/bpf`.

pub(crate) mod classifier;
pub(crate) mod load_error;
pub(crate) mod shared_array;
