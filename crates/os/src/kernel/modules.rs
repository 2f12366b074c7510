//! Kernel modules.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The parameters of a module: none.
const NO_PARAMETERS: &CStr = c"";

/// Load a kernel module from its file (finit_module(2)). Succeed if the module is already loaded. Needs
/// `CAP_SYS_MODULE`.
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
