//! How many files a process may have open (getrlimit(2), `RLIMIT_NOFILE`).

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Lets this process have as many as its hard limit is, where it may set that: no error, for whoever opens
/// too many is told so then.
pub fn allow_most() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, hard / 2, hard).unwrap();
        allow_most();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (hard, hard));
    }
}
