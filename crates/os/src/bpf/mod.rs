//! What the users of BPF programs have in common: the programs' shared memory and the loader's errors. The
//! programs themselves, in C, are in `crates/os/bpf`.

pub(crate) mod load_error;
pub(crate) mod shared_array;
