//! `calls`: what is in a log of a recorded process.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use delaylab_calls::{Call, Damage, Decoder, Entry, HEADER, plain_length};
use delaylab_proto::{Context, Failure};
use serde::Serialize;

/// The number of the clock that starts at the machine's start (CLOCK_MONOTONIC, clock_gettime(2)).
const MONOTONIC: i32 = 1;

/// The most bytes of a process's words, and of what else is said of it (`LINE` in `crates/replay/src/start.rs`).
const MOST_OF_PROCESS: usize = 256 << 10;

/// The most names of functions that are not recorded.
const MOST_UNSEEN: usize = 100;

/// The log to read.
#[derive(Args)]
pub struct Calls {
    log: PathBuf,
    /// Print a line for each call, and no JSON.
    #[arg(long)]
    list: bool,
}

/// All calls of a log in numbers.
#[derive(Default, Serialize)]
struct Summary {
    calls: u64,
    /// Calls by which the process sent or wrote bytes.
    outputs: u64,
    /// Signals whose handlers ran.
    signals: u64,
    threads: u16,
    /// The length of the log.
    bytes: u64,
    /// The length that the log would have if each call stood for itself, with all that was given and got.
    plain_bytes: u64,
    /// The same, but only with what the process got.
    plain_input_bytes: u64,
    /// The bytes of the log when the process had started to wait for the first time.
    start_bytes: u64,
    plain_start_bytes: u64,
    plain_start_input_bytes: u64,
    /// The same three lengths of the calls in the second half of the recorded time, and that half in s.
    late_bytes: u64,
    plain_late_bytes: u64,
    plain_late_input_bytes: u64,
    late_s: f64,
    /// The functions that it called and that are not recorded.
    unseen: BTreeSet<String>,
    /// The exit code, if the process ended by itself.
    exit: Option<i64>,
    /// The file of the program.
    executable: String,
    /// The paths by which its libraries were loaded.
    objects: Vec<String>,
    argv: Vec<String>,
    /// Its variables, as `NAME=VALUE`.
    env: Vec<String>,
}

/// Read a log and print what is in it. Fails for one that is damaged, and says where.
pub fn print(calls: &Calls) -> Result<(), Failure> {
    let what = || format!("read {}", calls.log.display());
    let log = fs::read(&calls.log).with_context(what)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut decoder = Decoder::new(&log).map_err(|damage| Failure::new(what(), damage))?;
    let mut all = Summary::default();
    let mut waited = false;
    loop {
        let at = decoder.position();
        let read = decoder.next(&log);
        let read = read.map_err(|damage| Failure::new(what(), format!("byte {at}: {damage}")))?;
        let Some(read) = read else { break };
        let entry = decoder.entry(&read, &log);
        if entry.call == Call::Start
            && (all.calls > 0 || entry.given.len().max(entry.got.len()) > MOST_OF_PROCESS)
        {
            return Err(Failure::new(
                what(),
                format!("byte {at}: it does not begin with a process"),
            ));
        }
        if !waited && matches!(entry.call, Call::Poll | Call::Select | Call::EpollWait) {
            waited = true;
            all.start_bytes = at as u64;
            all.plain_start_bytes = all.plain_bytes;
            all.plain_start_input_bytes = all.plain_input_bytes;
        }
        if calls.list && !matches!(entry.call, Call::Start | Call::End) {
            match line(all.calls + 1, &entry, &mut out) {
                // Whoever read the lines has seen enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                written => written.with_context(what)?,
            }
        }
        add(&mut all, &entry);
    }
    all.bytes = decoder.position() as u64;
    late(&log, &mut all).map_err(|damage| Failure::new(what(), damage))?;
    if decoder.position() == HEADER {
        return Err(Failure::new(what(), "it has no calls"));
    }
    if !calls.list {
        serde_json::to_writer(&mut out, &all).with_context(what)?;
    }
    out.flush().with_context(what)
}

/// Add up the calls of the second half of the recorded time, which starts at the first reading of the monotonic clock.
fn late(log: &[u8], all: &mut Summary) -> Result<(), Damage> {
    let mut times = Vec::new();
    visit(log, |_, entry| {
        if entry.call == Call::ClockGettime && entry.fd == MONOTONIC {
            times.push(entry.time);
        }
    })?;
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(()) };
    let middle = first + (last - first) / 2;
    let mut is_late = false;
    visit(log, |bytes, entry| {
        is_late |=
            entry.call == Call::ClockGettime && entry.fd == MONOTONIC && entry.time >= middle;
        if is_late {
            all.late_bytes += bytes as u64;
            all.plain_late_bytes += plain_length(entry) as u64;
            all.plain_late_input_bytes += plain_length(&Entry { given: &[], ..*entry }) as u64;
        }
    })?;
    all.late_s = (last - middle) as f64 / 1e9;
    Ok(())
}

/// Visit all entries of a log, each with the bytes that it takes there.
fn visit(log: &[u8], mut each: impl FnMut(usize, &Entry<'_>)) -> Result<(), Damage> {
    let mut decoder = Decoder::new(log)?;
    let mut before = decoder.position();
    while let Some(read) = decoder.next(log)? {
        each(decoder.position() - before, &decoder.entry(&read, log));
        before = decoder.position();
    }
    Ok(())
}

fn add(all: &mut Summary, entry: &Entry<'_>) {
    all.plain_bytes += plain_length(entry) as u64;
    all.plain_input_bytes += plain_length(&Entry { given: &[], ..*entry }) as u64;
    match entry.call {
        Call::Start => {
            all.argv = texts(entry.given);
            // Loaded objects, then the program's file, then variables.
            let mut parts = texts(entry.got).into_iter();
            all.objects = paths(&parts.next().unwrap_or_default());
            all.executable = parts.next().unwrap_or_default();
            all.env = parts.collect();
            return;
        }
        Call::End => {
            all.exit = Some(entry.result);
            return;
        }
        Call::Signal => all.signals += 1,
        Call::Unseen if all.unseen.len() < MOST_UNSEEN => {
            all.unseen.insert(String::from_utf8_lossy(entry.given).into_owned());
        }
        _ => {}
    }
    all.calls += 1;
    all.outputs += u64::from(entry.call.is_output());
    all.threads = all.threads.max(entry.thread + 1);
}

/// Return the paths of a text with a line for each object; the program's own line has none.
fn paths(lines: &str) -> Vec<String> {
    let path = |line: &str| Some(line.rsplit_once(' ')?.0.to_owned());
    lines.lines().filter_map(path).filter(|it| it.starts_with('/')).collect()
}

/// Return the texts that each end with a zero.
fn texts(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    bytes.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

/// Print a call: its number, thread, name, descriptor, result, and how many bytes were given and got.
fn line(number: u64, entry: &Entry<'_>, out: &mut impl Write) -> io::Result<()> {
    let Entry { thread, call, fd, result, given, got, .. } = entry;
    let name = call.name();
    writeln!(out, "{number} {thread} {name} {fd} {result} {} {}", given.len(), got.len())
}
