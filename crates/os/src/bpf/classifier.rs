//! Programs of traffic control, in a loaded object.

use std::io;

use aya::Ebpf;
use aya::programs::SchedClassifier;

use super::load_error::refused;

/// Return a program of an object.
///
/// # Panics
/// Panics if the object has no such program.
pub(crate) fn program<'a>(object: &'a mut Ebpf, name: &str) -> io::Result<&'a mut SchedClassifier> {
    let program = object.program_mut(name).expect("the object has this program");
    program.try_into().map_err(refused)
}
