//! Attaching programs to the hooks of an interface.

use std::io;

use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};

use crate::bpf::load_error::refused;

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
