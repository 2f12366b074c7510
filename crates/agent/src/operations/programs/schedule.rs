//! `schedule` and `scheduled`: things that are done to a node's programs at set times.
//!
//! A process of its own waits for the times (`delaylab-agent carry-out`), so that no client has to. It notes what it
//! did, and ends with the last order, with the node, or when other orders are given.

use std::fs;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use delaylab_os::clock::{Monotonic, Realtime};
use delaylab_os::files::descriptor;
use delaylab_os::process::{self, title};
use delaylab_proto::{Context, Failure};
use serde::{Deserialize, Serialize};

use super::control::{Acted, act};
use super::programs_folder::ProgramsFolder;
use crate::protocol::programs::Nothing;
use crate::protocol::starting::{Schedule, Scheduled, ScheduledDone, TimedDeed, TimedDeedDone};
use crate::session::Session;

/// The verb of this program that carries out orders.
const VERB: &str = "carry-out";
/// The file with the orders that were given, and the process that carries them out.
const GIVEN: &str = "orders.json";
/// The file with what was done.
const DONE: &str = "orders-done.json";

/// The orders of a node, and the process that waits for their times.
#[derive(Serialize, Deserialize)]
struct Given {
    pid: u32,
    orders: Vec<TimedDeed>,
}

/// The orders to carry out, and the folder that keeps what becomes of them.
#[derive(Serialize, Deserialize)]
struct CarryOut {
    kept: ProgramsFolder,
    orders: Vec<TimedDeed>,
}

/// Take orders, in place of those before.
pub(crate) fn schedule(request: Schedule, _: &mut Session) -> Result<Nothing, Failure> {
    let what = "take orders";
    let kept = ProgramsFolder::in_folder(request.folder);
    if !request.orders.is_sorted_by_key(|order| order.at_ns) {
        return Err(Failure::new(what, "they are not in the order of their times"));
    }
    kept.make().context(what)?;
    drop_those_before(&kept)?;
    if request.orders.is_empty() {
        return Ok(Nothing {});
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context(what)?;
    let given = Given { pid: child.id(), orders: request.orders.clone() };
    write(&kept, GIVEN, &given)?;
    let order = CarryOut { kept, orders: request.orders };
    let input = child.stdin.take().expect("it was asked for");
    serde_json::to_writer(input, &order).context(what)?;
    // It closes its output once it is on its own; from then on it can be ended as a group.
    let mut output = child.stdout.take().expect("it was asked for");
    output.read_to_end(&mut Vec::new()).context(what)?;
    Ok(Nothing {})
}

/// End the process that carries out earlier orders, and forget them.
fn drop_those_before(kept: &ProgramsFolder) -> Result<(), Failure> {
    let what = "drop earlier orders";
    if let Some(given) = read::<Given>(kept, GIVEN)? {
        let name = fs::read(format!("/proc/{}/cmdline", given.pid)).unwrap_or_default();
        let pid = i32::try_from(given.pid).context(what)?;
        // It has ended if another process has its number by now, and it may end at any moment.
        if name.windows(VERB.len()).any(|part| part == VERB.as_bytes()) {
            let _ = process::signal_group(pid, process::SIGKILL);
        }
    }
    for file in [GIVEN, DONE] {
        match fs::remove_file(kept.file(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::new(what, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Report what was done, once all of it is done or a time is over.
pub(crate) fn scheduled(request: Scheduled, _: &mut Session) -> Result<ScheduledDone, Failure> {
    let kept = ProgramsFolder::in_folder(request.folder);
    let Some(given) = read::<Given>(&kept, GIVEN)? else {
        return Ok(ScheduledDone { done: Vec::new(), left: 0 });
    };
    let so_far = || read::<Vec<TimedDeedDone>>(&kept, DONE).map(Option::unwrap_or_default);
    let all = given.orders.len();
    kept.wait(Duration::from_millis(request.within_ms), || match so_far() {
        Ok(done) if done.len() < all => None,
        other => Some(other),
    })?
    .transpose()?;
    let done = so_far()?;
    let left = all - done.len().min(all);
    Ok(ScheduledDone { done, left })
}

/// Carry out the orders that standard input describes (`CarryOut`), each at its time.
pub(crate) fn carry_out() -> Result<(), Failure> {
    let CarryOut { kept, orders } = serde_json::from_reader(io::stdin()).context("read orders")?;
    title::make_room().context("name the process")?;
    title::set(&format!("delaylab-agent {VERB}"), "delaylab-orders").context("name the process")?;
    process::leave_terminal().context("leave the client's session")?;
    descriptor::detach_stdio().context("tell that orders were taken")?;
    let mut done: Vec<TimedDeedDone> = Vec::new();
    // Counted by the monotonic clock from now on: nobody can set that.
    let (here, now) = (Monotonic::now(), Realtime::now());
    for order in &orders {
        wait_until(here, order.at_ns - now.ns());
        let began_ns = Realtime::now().ns();
        let (began_ns, done_ns, failed) = match done_by(&kept, order) {
            Ok((began_ns, done_ns)) => (began_ns, done_ns, None),
            Err(failure) => (began_ns, Realtime::now().ns(), Some(failure.to_string())),
        };
        done.push(TimedDeedDone { at_ns: order.at_ns, began_ns, done_ns, failed });
        write(&kept, DONE, &done)?;
    }
    Ok(())
}

/// Carry out an order; return the times before and after it.
fn done_by(kept: &ProgramsFolder, order: &TimedDeed) -> Result<(i64, i64), Failure> {
    let what = "run a command";
    if let Some(deed) = order.deed {
        let Acted { began_ns, done_ns, .. } = act(kept, deed, &order.names, None)?;
        return Ok((began_ns, done_ns));
    }
    let Some((program, rest)) = order.argv.split_first() else {
        return Err(Failure::new(what, "the order names none"));
    };
    let began_ns = Realtime::now().ns();
    let ended = Command::new(program).args(rest).stdin(Stdio::null()).output().context(what)?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        return Err(Failure::new(what, format!("{}: {}", ended.status, said.trim())));
    }
    Ok((began_ns, Realtime::now().ns()))
}

/// Return once so many ns have passed since a time.
fn wait_until(since: Monotonic, after_ns: i64) {
    loop {
        let left_ns = after_ns - (Monotonic::now() - since).ns();
        let Ok(left_ns @ 1..) = u64::try_from(left_ns) else { return };
        thread::sleep(Duration::from_nanos(left_ns));
    }
}

fn write(kept: &ProgramsFolder, name: &str, value: &impl Serialize) -> Result<(), Failure> {
    let what = || format!("keep {name}");
    let place = kept.file(name);
    let partial = place.with_extension("new");
    let text = serde_json::to_vec(value).with_context(what)?;
    fs::write(&partial, text).and_then(|()| fs::rename(&partial, place)).with_context(what)
}

/// Return what is kept in a file; `None` if there is none.
fn read<T: for<'a> Deserialize<'a>>(
    kept: &ProgramsFolder,
    name: &str,
) -> Result<Option<T>, Failure> {
    let what = || format!("read {name}");
    match fs::read(kept.file(name)) {
        Ok(text) => serde_json::from_slice(&text).map(Some).with_context(what),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(what(), error)),
    }
}
