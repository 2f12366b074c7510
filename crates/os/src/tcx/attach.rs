//! Attaching programs to the hooks of an interface.

use std::io;

use aya::Ebpf;
use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};

use crate::bpf::load_error::refused;

/// Return a program of an object.
///
/// # Panics
/// Panics if the object has no such program.
pub(super) fn program<'a>(object: &'a mut Ebpf, name: &str) -> io::Result<&'a mut SchedClassifier> {
    let program = object.program_mut(name).expect("the object has this program");
    program.try_into().map_err(refused)
}

/// Attach a loaded program to a hook of an interface of this network namespace, until the result is dropped.
/// `order` is its place among the hook's programs.
pub(super) fn attach(
    program: &mut SchedClassifier,
    interface: &str,
    hook: TcAttachType,
    order: LinkOrder,
) -> io::Result<FdLink> {
    let options = TcAttachOptions::TcxOrder(order);
    let id = program.attach_with_options(interface, hook, options).map_err(refused)?;
    program.take_link(id).map_err(refused)?.try_into().map_err(refused)
}
