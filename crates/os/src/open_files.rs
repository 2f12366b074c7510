//! How many files a process may have open (getrlimit(2), `RLIMIT_NOFILE`), and which of its threads has them.

use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Lets this process have as many as its hard limit is, where it may set that: no error, for whoever opens
/// too many is told so then.
pub fn allow_most() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// From now on the calling thread's table of open files is its own, with what is open now: it does not see
/// what other threads open or close. Each of its system calls on one then costs less, for the kernel need
/// not count that the file is in use (unshare(2), `CLONE_FILES`). No error where that is refused: nothing but
/// that cost depends on it.
pub fn part() {
    let _ = unshare(CloneFlags::CLONE_FILES);
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::os::fd::AsFd;
    use std::sync::mpsc;
    use std::thread;

    use crate::pipe;
    use crate::poll::{self, Want};

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, hard / 2, hard).unwrap();
        allow_most();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (hard, hard));
    }

    #[test]
    fn a_thread_that_has_parted_keeps_what_another_one_closes() {
        let (reader, writer) = pipe::pair().unwrap();
        pipe::set_nonblocking(reader.as_fd()).unwrap();
        let (parted, parts) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            part();
            parted.send(()).unwrap();
            let _ = ends.recv();
        });
        parts.recv().unwrap();
        drop(writer);
        let read = || pipe::read_some(reader.as_fd(), &mut [0; 1]).unwrap();
        assert_eq!(read(), None);
        drop(end);
        other.join().unwrap();
        // A thread has been joined a moment before its table is gone.
        poll::wait(&[(reader.as_fd(), Want::Read)], None).unwrap();
        assert_eq!(read(), Some(0));
    }
}
