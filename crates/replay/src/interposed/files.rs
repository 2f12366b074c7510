//! Files: a replay opens none, and changes none.

use core::ffi::{c_char, c_int, c_void};

use delaylab_calls::Call;
use libc::{AT_FDCWD, stat as Stat};

use crate::gate::{asked, making, pass, pass_numbers};
use crate::sys::sys;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: u32,
) -> c_int {
    pass(
        making(Call::Open, folder),
        |given| {
            given.number(flags);
            given.text(path);
        },
        || sys!(SYS_openat, folder, path, flags, mode),
        |_, _| {},
    ) as c_int
}

/// Define other names of a function, which take the same arguments.
macro_rules! also {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty = $call:expr;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            $call
        })*
    };
}

also! {
    openat64(folder: c_int, path: *const c_char, flags: c_int, mode: u32) -> c_int = openat(folder, path, flags, mode);
    open(path: *const c_char, flags: c_int, mode: u32) -> c_int = openat(AT_FDCWD, path, flags, mode);
    open64(path: *const c_char, flags: c_int, mode: u32) -> c_int = openat(AT_FDCWD, path, flags, mode);
    __open_2(path: *const c_char, flags: c_int) -> c_int = openat(AT_FDCWD, path, flags, 0);
    __open64_2(path: *const c_char, flags: c_int) -> c_int = openat(AT_FDCWD, path, flags, 0);
    __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int = openat(folder, path, flags, 0);
    creat(path: *const c_char, mode: u32) -> c_int =
        openat(AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode);
    stat64(path: *const c_char, into: *mut Stat) -> c_int = stat(path, into);
    lstat64(path: *const c_char, into: *mut Stat) -> c_int = lstat(path, into);
    fstat64(fd: c_int, into: *mut Stat) -> c_int = fstat(fd, into);
    stat(path: *const c_char, into: *mut Stat) -> c_int = fstatat(AT_FDCWD, path, into, 0);
    lstat(path: *const c_char, into: *mut Stat) -> c_int =
        fstatat(AT_FDCWD, path, into, libc::AT_SYMLINK_NOFOLLOW);
    fstatat64(folder: c_int, path: *const c_char, into: *mut Stat, flags: c_int) -> c_int =
        fstatat(folder, path, into, flags);
    access(path: *const c_char, mode: c_int) -> c_int = faccessat(AT_FDCWD, path, mode, 0);
    ftruncate64(fd: c_int, length: i64) -> c_int = ftruncate(fd, length);
    lseek64(fd: c_int, offset: i64, from: c_int) -> i64 = lseek(fd, offset, from);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstatat(
    folder: c_int,
    path: *const c_char,
    into: *mut Stat,
    flags: c_int,
) -> c_int {
    pass(
        asked(Call::Stat, folder),
        |given| given.text(path),
        || sys!(SYS_newfstatat, folder, path, into, flags),
        |port, _| port.memory(into, size_of::<Stat>()),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fstat(fd: c_int, into: *mut Stat) -> c_int {
    pass(
        asked(Call::Fstat, fd),
        |_| {},
        || sys!(SYS_fstat, fd, into),
        |port, _| port.memory(into, size_of::<Stat>()),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn faccessat(folder: c_int, path: *const c_char, mode: c_int, _: c_int) -> c_int {
    pass(
        asked(Call::Access, folder),
        |given| given.text(path),
        || sys!(SYS_faccessat, folder, path, mode),
        |_, _| {},
    ) as c_int
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn lseek(fd: c_int, offset: i64, from: c_int) -> i64 {
    let real = || sys!(SYS_lseek, fd, offset, from);
    pass_numbers(asked(Call::Lseek, fd), &[offset, from.into()], real)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ftruncate(fd: c_int, length: i64) -> c_int {
    pass_numbers(asked(Call::Ftruncate, fd), &[length], || sys!(SYS_ftruncate, fd, length)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: *const c_char, into: *mut c_char, room: usize) -> isize {
    pass(
        asked(Call::Readlink, -1),
        |given| given.text(path),
        || sys!(SYS_readlinkat, AT_FDCWD, path, into, room),
        |port, count| port.memory(into.cast::<c_void>(), room.min(count as usize)),
    ) as isize
}

/// Pass a change of files: what it is, and its paths.
unsafe fn change(
    what: &'static str,
    paths: [*const c_char; 2],
    number: i64,
    fd: c_int,
    real: impl FnOnce() -> i64,
) -> c_int {
    pass(
        asked(Call::Files, fd),
        |given| {
            given.put(what.as_bytes());
            given.number(number);
            given.text(paths[0]);
            given.text(paths[1]);
        },
        real,
        |_, _| {},
    ) as c_int
}

const NO: *const c_char = core::ptr::null();

also! {
    unlink(path: *const c_char) -> c_int =
        change("unlink", [path, NO], 0, -1, || sys!(SYS_unlinkat, AT_FDCWD, path, 0));
    unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int =
        change("unlinkat", [path, NO], flags.into(), folder, || sys!(SYS_unlinkat, folder, path, flags));
    rmdir(path: *const c_char) -> c_int =
        change("rmdir", [path, NO], 0, -1, || sys!(SYS_unlinkat, AT_FDCWD, path, libc::AT_REMOVEDIR));
    remove(path: *const c_char) -> c_int =
        change("remove", [path, NO], 0, -1, || {
            let removed = sys!(SYS_unlinkat, AT_FDCWD, path, 0);
            if removed == -i64::from(libc::EISDIR) {
                sys!(SYS_unlinkat, AT_FDCWD, path, libc::AT_REMOVEDIR)
            } else {
                removed
            }
        });
    mkdir(path: *const c_char, mode: u32) -> c_int =
        change("mkdir", [path, NO], mode.into(), -1, || sys!(SYS_mkdirat, AT_FDCWD, path, mode));
    mkfifo(path: *const c_char, mode: u32) -> c_int = change("mkfifo", [path, NO], mode.into(), -1, || {
        sys!(SYS_mknodat, AT_FDCWD, path, mode | libc::S_IFIFO, 0)
    });
    rename(old: *const c_char, new: *const c_char) -> c_int =
        change("rename", [old, new], 0, -1, || sys!(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0));
    link(old: *const c_char, new: *const c_char) -> c_int =
        change("link", [old, new], 0, -1, || sys!(SYS_linkat, AT_FDCWD, old, AT_FDCWD, new, 0));
    symlink(old: *const c_char, new: *const c_char) -> c_int =
        change("symlink", [old, new], 0, -1, || sys!(SYS_symlinkat, old, AT_FDCWD, new));
    chmod(path: *const c_char, mode: u32) -> c_int =
        change("chmod", [path, NO], mode.into(), -1, || sys!(SYS_fchmodat, AT_FDCWD, path, mode));
    fchmod(fd: c_int, mode: u32) -> c_int =
        change("fchmod", [NO, NO], mode.into(), fd, || sys!(SYS_fchmod, fd, mode));
    chown(path: *const c_char, user: u32, group: u32) -> c_int = change("chown", [path, NO], user.into(), -1, || {
        sys!(SYS_fchownat, AT_FDCWD, path, user, group, 0)
    });
    fchown(fd: c_int, user: u32, group: u32) -> c_int =
        change("fchown", [NO, NO], user.into(), fd, || sys!(SYS_fchown, fd, user, group));
    fchownat(folder: c_int, path: *const c_char, user: u32, group: u32, flags: c_int) -> c_int =
        change("fchownat", [path, NO], user.into(), folder, || {
            sys!(SYS_fchownat, folder, path, user, group, flags)
        });
    chdir(path: *const c_char) -> c_int = change("chdir", [path, NO], 0, -1, || sys!(SYS_chdir, path));
    fsync(fd: c_int) -> c_int = change("fsync", [NO, NO], 0, fd, || sys!(SYS_fsync, fd));
    fdatasync(fd: c_int) -> c_int = change("fdatasync", [NO, NO], 0, fd, || sys!(SYS_fdatasync, fd));
    fallocate(fd: c_int, mode: c_int, offset: i64, length: i64) -> c_int =
        change("fallocate", [NO, NO], length, fd, || sys!(SYS_fallocate, fd, mode, offset, length));
    chroot(path: *const c_char) -> c_int = change("chroot", [path, NO], 0, -1, || sys!(SYS_chroot, path));
}

/// Return 0 or the error's number, as this function does instead of setting `errno`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_fallocate(fd: c_int, offset: i64, length: i64) -> c_int {
    if fallocate(fd, 0, offset, length) < 0 { crate::sys::errno() } else { 0 }
}

/// Make a new file or folder whose name ends with six letters, and what follows them.
unsafe fn unique(name: *mut c_char, after: c_int, make: impl Fn(*const c_char) -> c_int) -> c_int {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789__";
    const X: usize = 6;
    let length = libc::strlen(name);
    let Some(at) = length.checked_sub(X + after.max(0) as usize) else {
        crate::sys::set_errno(libc::EINVAL);
        return -1;
    };
    let place = core::slice::from_raw_parts_mut(name.add(at).cast::<u8>(), X);
    if place != b"XXXXXX" {
        crate::sys::set_errno(libc::EINVAL);
        return -1;
    }
    for _ in 0..1000 {
        let mut random = [0u8; X];
        super::identity::getrandom(random.as_mut_ptr().cast(), X, 0);
        for (letter, number) in place.iter_mut().zip(random) {
            *letter = LETTERS[usize::from(number % 64)];
        }
        let made = make(name);
        if made >= 0 || crate::sys::errno() != libc::EEXIST {
            return made;
        }
    }
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkostemps(name: *mut c_char, after: c_int, flags: c_int) -> c_int {
    let flags = flags & !libc::O_ACCMODE | libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    unique(name, after, |path| openat(AT_FDCWD, path, flags, 0o600))
}

also! {
    mkstemp(name: *mut c_char) -> c_int = mkostemps(name, 0, 0);
    mkstemp64(name: *mut c_char) -> c_int = mkostemps(name, 0, 0);
    mkostemp(name: *mut c_char, flags: c_int) -> c_int = mkostemps(name, 0, flags);
    mkostemp64(name: *mut c_char, flags: c_int) -> c_int = mkostemps(name, 0, flags);
    mkstemps(name: *mut c_char, after: c_int) -> c_int = mkostemps(name, after, 0);
    mkstemps64(name: *mut c_char, after: c_int) -> c_int = mkostemps(name, after, 0);
    mkostemps64(name: *mut c_char, after: c_int, flags: c_int) -> c_int = mkostemps(name, after, flags);
    mkdtemp(name: *mut c_char) -> *mut c_char =
        if unique(name, 0, |path| mkdir(path, 0o700)) < 0 { core::ptr::null_mut() } else { name };
}
