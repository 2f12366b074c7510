//! Files below a folder, however links and `..` lead (openat2(2)).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{Mode, mkdirat};

/// Create a file below a folder, or empty the one that is there, and make the folders that lead to it, with mode
/// 0755. Fails with `EXDEV` if the path leads out of the folder. Links are followed within it; if the folder is
/// `/`, absolute ones, too.
pub fn create(folder: &Path, path: &Path) -> io::Result<File> {
    let whole = folder == Path::new("/");
    let resolve = if whole { ResolveFlag::RESOLVE_IN_ROOT } else { ResolveFlag::RESOLVE_BENEATH };
    let below = Below {
        folder: nix::fcntl::open(
            folder,
            OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
            Mode::empty(),
        )?,
        resolve: resolve | ResolveFlag::RESOLVE_NO_MAGICLINKS,
    };
    let mut parent = PathBuf::new();
    for part in path.parent().into_iter().flat_map(Path::components) {
        let next = parent.join(part);
        if let Err(Errno::ENOENT) = below.open(&next, OFlag::O_PATH | OFlag::O_DIRECTORY) {
            let Component::Normal(name) = part else { return Err(Errno::EINVAL.into()) };
            let at = below.open(&parent, OFlag::O_PATH | OFlag::O_DIRECTORY)?;
            mkdirat(&at, name, Mode::from_bits_truncate(0o755))?;
        }
        parent = next;
    }
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_NONBLOCK;
    let file = File::from(below.open(path, flags)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

struct Below {
    folder: OwnedFd,
    resolve: ResolveFlag,
}

impl Below {
    fn open(&self, path: &Path, flags: OFlag) -> nix::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let mode = if flags.contains(OFlag::O_CREAT) {
            Mode::from_bits_truncate(0o600)
        } else {
            Mode::empty()
        };
        let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).mode(mode).resolve(self.resolve);
        openat2(self.folder.as_fd(), path, how)
    }
}

#[cfg(test)]
mod tests {
    use super::create;

    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn no_link_and_no_dots_lead_out() {
        let place = std::env::temp_dir().join(format!("delaylab-beneath-{}", std::process::id()));
        let inside = place.join("inside");
        fs::create_dir_all(&inside).unwrap();
        symlink(&place, inside.join("out")).unwrap();
        symlink("new", inside.join("near")).unwrap();
        create(&inside, Path::new("new/file")).unwrap().write_all(b"text").unwrap();
        assert_eq!(fs::read(inside.join("near/file")).unwrap(), b"text");
        create(&inside, Path::new("near/file")).unwrap();
        assert_eq!(fs::read(inside.join("new/file")).unwrap(), b"");
        for path in ["out/file", "../file", "new/../../file", "out"] {
            assert!(create(&inside, Path::new(path)).is_err(), "{path}");
        }
        assert!(!place.join("file").exists());
        fs::remove_dir_all(&place).unwrap();
    }
}
