//! Tasks of a virtual machine's first process: modules, devices, power.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

const NO_PARAMETERS: &CStr = c"";

/// Load a kernel module from its file (finit_module(2)). Succeed if the module is already loaded.
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

/// Block until `find` returns something; call it again whenever an entry appears in `folder`.
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

/// Put a terminal into raw mode, in which it passes every byte unchanged. Do nothing for other descriptors.
pub fn make_raw(line: &impl AsFd) -> io::Result<()> {
    let mut settings = match tcgetattr(line) {
        Err(nix::errno::Errno::ENOTTY | nix::errno::Errno::EINVAL) => return Ok(()),
        settings => settings?,
    };
    cfmakeraw(&mut settings);
    Ok(tcsetattr(line, SetArg::TCSANOW, &settings)?)
}

/// Switch the machine off. Only for the first process of a virtual machine.
pub fn power_off() -> io::Result<()> {
    reboot(RebootMode::RB_POWER_OFF)?;
    Ok(())
}
