//! The machine's power.

use std::io;

use nix::sys::reboot::{RebootMode, reboot};

/// Switch the machine off at once (reboot(2)). Only for the first process of a virtual machine.
pub fn power_off() -> io::Result<()> {
    reboot(RebootMode::RB_POWER_OFF)?;
    Ok(())
}
