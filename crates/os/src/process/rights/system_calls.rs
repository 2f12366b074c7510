//! A filter of system calls (seccomp(2)) for a program that computes, and does nothing to others.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    apply_filter,
};

/// The calls that are allowed with any arguments: those for memory, time, threads, signals to the process itself, and
/// files that it finds. None makes a socket, a process or a namespace.
const ALLOWED: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_capget,
    libc::SYS_chdir,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fchdir,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_futex,
    libc::SYS_getcpu,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getitimer,
    libc::SYS_getpgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getpriority,
    libc::SYS_getrandom,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getrusage,
    libc::SYS_getsid,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_mlockall,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_munlock,
    libc::SYS_munlockall,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_pselect6,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_setitimer,
    libc::SYS_sigaltstack,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_sysinfo,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_gettime,
    libc::SYS_timer_settime,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime,
    libc::SYS_times,
    libc::SYS_umask,
    libc::SYS_uname,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_write,
    libc::SYS_writev,
];

/// The calls that x86-64 has in addition.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_getpgrp,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_stat,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[c_long] = &[];

/// The flags of clone(2) for namespaces.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;
/// The commands of fcntl(2) that send no signal to others.
const ON_DESCRIPTORS: [i32; 10] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_GETOWN,
];
/// The commands of ioctl(2) that change no device.
const QUESTIONS: [u64; 3] = [libc::TCGETS, libc::TIOCGWINSZ, libc::FIONREAD];
/// The commands of prctl(2) that change this thread alone.
const OF_THREAD: [i32; 3] = [libc::PR_SET_PDEATHSIG, libc::PR_SET_NAME, libc::PR_GET_NAME];
/// The question of personality(2).
const ASK: u64 = 0xffff_ffff;

/// Allow this process, and the program that it becomes, the system calls that a program needs to compute; all others
/// fail with `ENOSYS`. It starts threads and no processes, and signals itself alone.
pub fn allow_computing() -> io::Result<()> {
    let program = filter(std::process::id()).map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

fn filter(own: u32) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for number in ALLOWED.iter().chain(OLD) {
        rules.insert(*number, Vec::new());
    }
    let is = |argument: u8, value: u64| SeccompCondition::new(argument, Dword, Eq, value);
    let one_of = |argument: u8, values: &[u64]| {
        let rule = |value: &u64| SeccompRule::new(vec![is(argument, *value)?]);
        values.iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    let numbers =
        |values: &[i32]| values.iter().map(|it| u64::from(it.unsigned_abs())).collect::<Vec<_>>();
    let own = u64::from(own);
    rules.insert(libc::SYS_kill, one_of(0, &[own])?);
    rules.insert(libc::SYS_tgkill, one_of(0, &[own])?);
    rules.insert(libc::SYS_prlimit64, one_of(0, &[0, own])?);
    rules.insert(libc::SYS_fcntl, one_of(1, &numbers(&ON_DESCRIPTORS))?);
    rules.insert(libc::SYS_ioctl, one_of(1, &QUESTIONS)?);
    rules.insert(libc::SYS_prctl, one_of(0, &numbers(&OF_THREAD))?);
    rules.insert(libc::SYS_personality, one_of(0, &[ASK])?);
    let flags = |it: i32| u64::from(it.cast_unsigned());
    let thread = flags(libc::CLONE_THREAD);
    let mask = thread | flags(NAMESPACES);
    let threads = SeccompCondition::new(0, Dword, MaskedEq(mask), thread)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![threads])?]);
    // The C library does without a call that is not there: without clone3(2), whose flags no filter sees, for one.
    let refused = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let machine = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, machine)?.try_into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_filter_is_accepted_by_its_compiler() {
        assert!(!super::filter(1).unwrap().is_empty());
    }
}
