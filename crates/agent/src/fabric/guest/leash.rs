//! The connection between a container and its monitor, where the container ends before its agent answers.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The most bytes of a reason that are read.
const LONGEST_REASON: u64 = 300;
/// The time that a reason may take to come.
const PATIENCE: Duration = Duration::from_secs(1);

/// Read what the program that started a container says of its end, if it does within [`PATIENCE`].
pub(super) fn reason_for_end(leash: OwnedFd) -> Option<String> {
    let leash = UnixStream::from(leash);
    leash.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut text = Vec::new();
    // What came before a failure is said.
    let _ = leash.take(LONGEST_REASON).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).replace(char::is_control, " ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use delaylab_os::files::descriptor::{self, Received};

    use super::*;

    #[test]
    fn a_containers_end_is_told_with_its_reason() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"\0exit\x1b code 7").unwrap();
        drop(theirs);
        let leash = OwnedFd::from(ours);
        let received = descriptor::receive_descriptor(leash.as_fd()).unwrap();
        assert!(matches!(received, Received::Nothing));
        assert_eq!(reason_for_end(leash).as_deref(), Some("exit  code 7"));
    }

    #[test]
    fn a_reason_without_end_is_cut() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[b'x'; 4096]).unwrap();
        assert_eq!(reason_for_end(ours.into()).unwrap().len() as u64, LONGEST_REASON);
        drop(theirs);
    }
}
