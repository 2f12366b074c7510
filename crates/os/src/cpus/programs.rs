//! The programs of the recorder, and the kernel's trace points that they run at.

use std::error::Error;
use std::io;

use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader, Pod};

use crate::bpf::refused;

/// The compiled `bpf/cpus.c`, aligned as the loader needs it.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/cpus.o");
/// The programs, and the kernel's trace points that they run at.
const PROGRAMS: [(&str, &str); 12] = [
    ("on_switch", "sched_switch"),
    ("on_idle", "cpu_idle"),
    ("on_waking", "sched_waking"),
    ("on_new", "sched_wakeup_new"),
    ("on_softirq_entry", "softirq_entry"),
    ("on_softirq_exit", "softirq_exit"),
    ("on_interrupt_entry", "irq_handler_entry"),
    ("on_interrupt_exit", "irq_handler_exit"),
    ("on_signal", "signal_generate"),
    ("on_fork", "sched_process_fork"),
    ("on_exit", "sched_process_exit"),
    ("on_rename", "task_rename"),
];
/// Programs with the trace points that they can run at; the first one that the kernel has is taken.
const AT_TIMERS: [(&str, [&str; 2]); 2] = [
    ("on_timer_entry", ["local_timer_entry", "hrtimer_expire_entry"]),
    ("on_timer_exit", ["local_timer_exit", "hrtimer_expire_exit"]),
];
/// Programs at trace points that a kernel may be built without.
const OPTIONAL: [(&str, &str); 4] = [
    ("on_reclaim_begin", "mm_vmscan_direct_reclaim_begin"),
    ("on_reclaim_end", "mm_vmscan_direct_reclaim_end"),
    ("on_group_reclaim_begin", "mm_vmscan_memcg_reclaim_begin"),
    ("on_group_reclaim_end", "mm_vmscan_memcg_reclaim_end"),
];
/// The records of a block, as `IN_BLOCK` in `bpf/cpus.h`.
pub(super) const IN_BLOCK: usize = 64;
const NO_RIGHT: &str = "it needs CAP_BPF and CAP_PERFMON, outside of user namespaces";
const NO_TYPES: &str = "the kernel does not describe its types (BTF)";

/// The layout of `SETTINGS` in `bpf/cpus.c`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    cpus: u32,
    blocks: u32,
    bits: u32,
}

// SAFETY: plain integers without padding.
unsafe impl Pod for Settings {}

/// Start the programs, on a machine with so many CPUs and records for each, a power of 2 of at least [`IN_BLOCK`]; they
/// stay attached as long as the object.
pub(super) fn start(cpus: usize, length: usize) -> io::Result<Ebpf> {
    let types = Btf::from_sys_fs().map_err(|_| io::Error::other(NO_TYPES))?;
    let blocks = length / IN_BLOCK;
    let settings = Settings { cpus: cpus as u32, blocks: blocks as u32, bits: length.ilog2() };
    let mut loader = EbpfLoader::new();
    loader
        .btf(Some(&types))
        .set_global("SETTINGS", &settings, true)
        .set_max_entries("RECORDS", (cpus * blocks) as u32)
        .set_max_entries("CPUS", cpus as u32);
    let mut object = loader.load(OBJECT).map_err(without_right)?;
    // All are loaded before the first one runs. That of switches, the first of them, runs last: from its first record on
    // none of the others is missing, and the caller can read at once how many switches there have been.
    for name in load(&mut object, &types)?.into_iter().rev() {
        program(&mut object, name)?.attach().map_err(refused)?;
    }
    Ok(object)
}

/// Return why the kernel let no map or program in: a right that is missing, else the loader's text.
fn without_right<E: Error>(error: E) -> io::Error {
    let refused = refused(error);
    let is_right = [libc::EPERM, libc::EACCES]
        .map(|number| io::Error::from_raw_os_error(number).to_string())
        .iter()
        .any(|text| refused.to_string().contains(text));
    if is_right { io::Error::other(NO_RIGHT) } else { refused }
}

/// Load the programs; return the names of those that this kernel has trace points for.
fn load(object: &mut Ebpf, types: &Btf) -> io::Result<Vec<&'static str>> {
    let mut loaded = Vec::new();
    for (name, point) in PROGRAMS {
        program(object, name)?.load(point, types).map_err(without_right)?;
        loaded.push(name);
    }
    for (name, [first, second]) in AT_TIMERS {
        let timer = program(object, name)?;
        timer.load(first, types).or_else(|_| timer.load(second, types)).map_err(without_right)?;
        loaded.push(name);
    }
    for (name, point) in OPTIONAL {
        if program(object, name)?.load(point, types).is_ok() {
            loaded.push(name);
        }
    }
    Ok(loaded)
}

/// Return a program of the object.
fn program<'a>(object: &'a mut Ebpf, name: &str) -> io::Result<&'a mut BtfTracePoint> {
    let program = object.program_mut(name).expect("the object has this program");
    program.try_into().map_err(refused)
}
