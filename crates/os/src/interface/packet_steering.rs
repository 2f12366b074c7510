//! Receive packet steering (RPS, the kernel's scaling.rst): the CPUs on which the stack processes an
//! interface's received packets.

use std::io;
use std::os::fd::BorrowedFd;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use crate::process::scheduling::online_cpus;

/// Process an interface's received packets on any CPU but these. `sys` is the namespace's `/sys`
/// ([`crate::files::mount::detached_sys`]). Needs `CAP_NET_ADMIN` outside of user namespaces. Fails with
/// `InvalidInput` if no CPU is left.
pub fn keep_off(sys: BorrowedFd<'_>, interface: &str, cpus: &[usize]) -> io::Result<()> {
    let others: Vec<usize> = (0..online_cpus()).filter(|cpu| !cpus.contains(cpu)).collect();
    if others.is_empty() {
        let why = format!("the machine has {} CPUs, none beside these", online_cpus());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let path = format!("class/net/{interface}/queues/rx-0/rps_cpus");
    let file = openat(sys, path.as_str(), OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    let mask = mask(&others);
    let written = nix::unistd::write(&file, mask.as_bytes())?;
    if written == mask.len() { Ok(()) } else { Err(Errno::EINVAL.into()) }
}

/// Format CPUs as the kernel's bit mask: hexadecimal words of 32 bits, the highest first.
fn mask(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(0, |most| most / 32) + 1;
    let word = |number: usize| {
        let inside = cpus.iter().filter(|&&cpu| cpu / 32 == number);
        format!("{:08x}", inside.fold(0u32, |bits, cpu| bits | 1 << (cpu % 32)))
    };
    (0..words).rev().map(word).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn cpus_are_written_as_the_kernel_reads_them() {
        assert_eq!(mask(&[0]), "00000001");
        assert_eq!(mask(&[1, 3, 31]), "8000000a");
        assert_eq!(mask(&[0, 33, 64]), "00000001,00000002,00000001");
    }

    #[test]
    fn a_machine_without_other_cpus_is_refused_before_anything_is_opened() {
        let nowhere = std::fs::File::open("/").unwrap();
        let all: Vec<usize> = (0..online_cpus()).collect();
        let error = keep_off(nowhere.as_fd(), "lo", &all).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
