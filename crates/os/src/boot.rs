//! What the first process of a virtual machine does: modules, devices, power.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

const NO_PARAMETERS: &CStr = c"";

/// Loads a kernel module from its file (finit_module(2)); one that is there already is no error.
pub fn load_module(file: &File) -> io::Result<()> {
    // SAFETY: the parameters are a C string that lives long enough.
    let done = unsafe {
        libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), NO_PARAMETERS.as_ptr(), 0)
    };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::EEXIST) { Ok(()) } else { Err(error) }
}

/// Waits until `find` finds something, asked again whenever something appears in `folder`.
pub fn wait_in<T>(folder: &Path, mut find: impl FnMut() -> Option<T>) -> io::Result<T> {
    let watch = Inotify::init(InitFlags::IN_CLOEXEC)?;
    watch.add_watch(folder, AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO)?;
    loop {
        if let Some(found) = find() {
            return Ok(found);
        }
        watch.read_events()?;
    }
}

/// Makes a terminal pass every byte as it is; anything else is left alone.
pub fn make_raw(line: &impl AsFd) -> io::Result<()> {
    let mut settings = match tcgetattr(line) {
        Err(nix::errno::Errno::ENOTTY | nix::errno::Errno::EINVAL) => return Ok(()),
        settings => settings?,
    };
    cfmakeraw(&mut settings);
    Ok(tcsetattr(line, SetArg::TCSANOW, &settings)?)
}

/// Switches the machine off. Only for the first process of a virtual machine.
pub fn power_off() -> io::Result<()> {
    reboot(RebootMode::RB_POWER_OFF)?;
    Ok(())
}
