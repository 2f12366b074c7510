//! Mounts in the current mount namespace (mount(2)). All need `CAP_SYS_ADMIN` there and fail with `EPERM`
//! without it.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

use nix::mount::{MsFlags, mount};

const NONE: Option<&str> = None;

/// Make all mounts private: no mount event leaves or enters this mount namespace.
pub fn make_private() -> io::Result<()> {
    Ok(mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?)
}

/// Mount a `/proc` that shows this process's PID namespace.
pub fn proc() -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(mount(Some("proc"), "/proc", Some("proc"), flags, NONE)?)
}

/// Create a `/proc` for this process's PID namespace that is mounted nowhere, and return its root
/// (fsopen(2)).
pub fn detached_proc() -> io::Result<OwnedFd> {
    detached(c"proc")
}

/// Create a `/sys` for this process's current network namespace that is mounted nowhere, and return its root.
pub fn detached_sys() -> io::Result<OwnedFd> {
    detached(c"sysfs")
}

/// Create a view of the control groups of version 2 that is mounted nowhere, and return its root: this process's
/// control group namespace begins there.
pub fn detached_groups() -> io::Result<OwnedFd> {
    detached(c"cgroup2")
}

/// Create a file system of a kind that is mounted nowhere, and return its root.
fn detached(kind: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string that lives long enough; the result is a new descriptor or -1.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), libc::FSOPEN_CLOEXEC) };
    let context = descriptor(context)?;
    let fd = context.as_raw_fd();
    let create = libc::FSCONFIG_CMD_CREATE;
    // SAFETY: this command takes neither key nor value.
    let made =
        unsafe { libc::syscall(libc::SYS_fsconfig, fd, create, null::<u8>(), null::<u8>(), 0) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    let attributes = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
    // SAFETY: takes integers; the result is a new descriptor or -1.
    let mount = unsafe { libc::syscall(libc::SYS_fsmount, fd, libc::FSMOUNT_CLOEXEC, attributes) };
    descriptor(mount)
}

/// Wrap a descriptor that a system call just returned.
fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let fd = i32::try_from(result).expect("a descriptor fits i32");
    // SAFETY: the callers pass the result of a call that makes a descriptor, which is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Mount a disk's file system of a `kind` such as `ext4` on a folder.
pub fn disk(device: &Path, kind: &str, folder: &Path) -> io::Result<()> {
    Ok(mount(Some(device), folder, Some(kind), MsFlags::empty(), NONE)?)
}

/// Show a file or folder at the path of another one.
pub fn bind(from: &Path, to: &Path) -> io::Result<()> {
    Ok(mount(Some(from), to, NONE, MsFlags::MS_BIND, NONE)?)
}

/// Show a folder, with the mounts below it, at the path of another folder.
pub fn bind_all(from: &Path, to: &Path) -> io::Result<()> {
    Ok(mount(Some(from), to, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?)
}

/// Let nobody change anything in a folder and in the mounts below it, nor gain rights by a program or reach a device
/// there (mount_setattr(2)).
pub fn lock(folder: &Path) -> io::Result<()> {
    let folder = CString::new(folder.as_os_str().as_bytes())?;
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let (at, recursive) = (libc::AT_FDCWD, libc::AT_RECURSIVE);
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the path and the attributes are live, and the size is that of the attributes.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            folder.as_ptr(),
            recursive,
            &raw const attributes,
            size,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Mount an empty file system in memory on a folder, for this user alone, that holds at most so many bytes.
pub fn memory(folder: &Path, bytes: u64) -> io::Result<()> {
    let options = format!("mode=700,size={bytes}");
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    Ok(mount(Some("tmpfs"), folder, Some("tmpfs"), flags, Some(options.as_str()))?)
}

/// Put a layer over a folder: what is written to the folder goes to `upper`, and the folder stays as it is
/// (overlayfs). `work` is an empty folder in the file system of `upper`.
pub fn layer(folder: &Path, upper: &str, work: &str) -> io::Result<()> {
    let options = format!("lowerdir={},upperdir={upper},workdir={work}", folder.display());
    Ok(mount(Some("overlay"), folder, Some("overlay"), MsFlags::empty(), Some(options.as_str()))?)
}

/// Move a mount, with the mounts below it, to another folder.
pub fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    Ok(mount(Some(from), to, NONE, MsFlags::MS_MOVE, NONE)?)
}

/// Make the mount that holds the current directory the root of the file system (switch_root(8)).
pub fn become_root() -> io::Result<()> {
    relocate(Path::new("."), Path::new("/"))?;
    nix::unistd::chroot(".")?;
    Ok(nix::unistd::chdir("/")?)
}

/// Mount a file system of the kernel itself, such as `sysfs` or `tmpfs`, on a folder. Succeed if the folder
/// has one already.
pub fn kernel_file_system(kind: &str, folder: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID;
    match mount(Some(kind), folder, Some(kind), flags, NONE) {
        // Already mounted: the kernel mounts some by itself.
        Err(nix::errno::Errno::EBUSY) => Ok(()),
        result => Ok(result?),
    }
}
