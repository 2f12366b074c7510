//! The supervisor of one program: it starts it, reports when it is ready, keeps its output and notes its end.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use delaylab_os::clock::Realtime;
use delaylab_os::files::descriptor;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::{self, Ended, PidFd, title};
use delaylab_proto::{Context, Failure};
use serde::{Deserialize, Serialize};

use super::Report;
use super::notifications;
use super::programs_folder::{ProgramsFolder, before};
use super::ready::{self, LOOK_EVERY};
use crate::protocol::starting::{Program, ProgramState, ReadySign};

/// The most bytes of output in one of the two files that keep it.
const LOG_BYTES: u64 = 1 << 20;
/// The last lines of output that a failure names.
const LAST_LINES: usize = 3;
/// The time that the rest of a program's session has to end after the program.
const GRACE: Duration = Duration::from_secs(1);

/// The program to supervise, and the folder that keeps what becomes of it.
#[derive(Serialize, Deserialize)]
pub(super) struct Supervise {
    pub(super) kept: ProgramsFolder,
    pub(super) program: Program,
    /// See [`Start::notify_later`](crate::protocol::starting::Start).
    pub(super) notify_later: bool,
}

/// Run the program that standard input describes (`Supervise`), until it ends. Report on standard output when it is ready, or
/// why it is not.
pub(crate) fn supervise() -> Result<(), Failure> {
    let Supervise { kept, program, notify_later } =
        serde_json::from_reader(io::stdin()).context("read the program")?;
    title::make_room().context("name the process")?;
    let of_node = starter().map_or_else(String::new, |node| format!(" of {node}"));
    title::set(&format!("delaylab-agent program {}{of_node}", program.name), "delaylab-prog")
        .context("name the process")?;
    process::leave_terminal().context("leave the client's session")?;
    process::reap_by_wait().context("wait for the program")?;
    let ready = Supervised::start(kept, program).and_then(|mut supervised| {
        supervised.until_ready()?;
        if supervised.program.ignores_routes {
            let Supervised { kept, program, handle, .. } = &supervised;
            let _ = notifications::stop(kept, program, handle, notify_later);
        }
        Ok(supervised)
    });
    let (report, supervised) = match ready {
        Ok(supervised) => (Report::Ready(supervised.state.pid), Some(supervised)),
        Err(failure) => (Report::Failed(failure), None),
    };
    let report = serde_json::to_string(&report).context("report")?;
    // The client may have left: its end of the pipe is then closed.
    let _ = writeln!(io::stdout(), "{report}");
    supervised.map_or(Ok(()), |mut supervised| supervised.until_its_end())
}

/// Return the node whose agent started this supervisor, such as `node.one`; `None` if it does not show its name.
fn starter() -> Option<String> {
    let words = fs::read(format!("/proc/{}/cmdline", parent_id())).ok()?;
    let text = String::from_utf8_lossy(&words).into_owned();
    let node = text.split(['\0', ' ']).nth(1)?;
    node.starts_with("node.").then(|| node.to_owned())
}

struct Supervised {
    kept: ProgramsFolder,
    program: Program,
    state: ProgramState,
    handle: PidFd,
    output: Option<OwnedFd>,
    log: Log,
    /// The end of the output so far, in which the sign may begin.
    tail: Vec<u8>,
    printed: bool,
}

impl Supervised {
    fn start(kept: ProgramsFolder, program: Program) -> Result<Self, Failure> {
        let what = || format!("start {}", program.name);
        let Some((file, arguments)) = program.argv.split_first() else {
            return Err(Failure::new(what(), "`argv` is empty"));
        };
        let mut command = Command::new(file);
        command.args(arguments).envs(&program.env).current_dir("/");
        process::new_session(&mut command, false);
        let (output, theirs) = descriptor::pipe().with_context(what)?;
        command.stdin(Stdio::null()).stdout(theirs.try_clone().with_context(what)?).stderr(theirs);
        let child = command.spawn().with_context(|| format!("run {file}"))?;
        drop(command);
        descriptor::set_nonblocking(output.as_fd()).with_context(what)?;
        let pid = i32::try_from(child.id()).with_context(what)?;
        let state = ProgramState {
            name: program.name.clone(),
            pid,
            began_ns: Realtime::now().ns(),
            ends: matches!(program.ready, Some(ReadySign::Ends(true))),
            ended_ns: None,
            exit: None,
            killed: None,
            frozen: false,
            ran_ns: 0,
            waited_ns: 0,
            recording: None,
        };
        let handle = PidFd::open(pid).with_context(what)?;
        kept.make().with_context(what)?;
        let log = Log::create(kept.log_file(&program.name)).with_context(what)?;
        let mut supervised = Self {
            kept,
            program,
            state,
            handle,
            output: Some(output),
            log,
            tail: Vec::new(),
            printed: false,
        };
        supervised.save()?;
        Ok(supervised)
    }

    /// Wait until the program is ready. End it if it is not in time.
    fn until_ready(&mut self) -> Result<(), Failure> {
        let Some(sign) = self.program.ready.clone() else { return Ok(()) };
        let what = format!("start {}", self.program.name);
        let deadline = Instant::now() + Duration::from_millis(self.program.within_ms);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let comes = matches!(sign, ReadySign::Prints(_) | ReadySign::Ends(_));
            let ended = self.turn(Some(if comes { left } else { left.min(LOOK_EVERY) }))?;
            if self.printed || ready::is_there(&sign, left) {
                return Ok(());
            }
            if ended {
                let how = self.end()?;
                if sign == ReadySign::Ends(true) && self.state.exit == Some(0) {
                    return Ok(());
                }
                let last = self.last_lines();
                return Err(Failure::new(
                    what,
                    format!("it ended {how} before it was ready{last}"),
                ));
            }
            if left.is_zero() {
                process::signal_group(self.state.pid, process::SIGKILL)
                    .context("end the program")?;
                self.end()?;
                let within = Duration::from_millis(self.program.within_ms);
                let (sign, last) = (ready::in_words(&sign), self.last_lines());
                let why = format!("it was not ready within {within:?} (no {sign}){last}");
                return Err(Failure::new(what, why));
            }
        }
    }

    fn until_its_end(&mut self) -> Result<(), Failure> {
        if self.state.ended_ns.is_some() {
            return Ok(());
        }
        while !self.turn(None)? {}
        self.end().map(|_| ())
    }

    /// Wait for output or the program's end, at most for a time, and keep the output. Return true once the program
    /// has ended.
    fn turn(&mut self, most: Option<Duration>) -> Result<bool, Failure> {
        let mut on = vec![(self.handle.as_fd(), Interest::Read)];
        on.extend(self.output.as_ref().map(|fd| (fd.as_fd(), Interest::Read)));
        let ended = poll::wait(&on, most).context("wait for the program")?[0];
        self.keep_output();
        Ok(ended)
    }

    fn keep_output(&mut self) {
        let mut bytes = [0; 4096];
        while let Some(output) = &self.output {
            match descriptor::read_some(output.as_fd(), &mut bytes) {
                Ok(None) => return,
                Ok(Some(0)) | Err(_) => self.output = None,
                Ok(Some(count)) => {
                    // A full disk loses output, and not the program.
                    let _ = self.log.append(&bytes[..count]);
                    self.look_for_sign(&bytes[..count]);
                }
            }
        }
    }

    fn look_for_sign(&mut self, bytes: &[u8]) {
        let Some(ReadySign::Prints(text)) = &self.program.ready else { return };
        if self.printed {
            return;
        }
        let text = text.as_bytes();
        self.tail.extend_from_slice(bytes);
        self.printed |= self.tail.windows(text.len().max(1)).any(|window| window == text);
        let kept = self.tail.len().min(text.len());
        self.tail.drain(..self.tail.len() - kept);
    }

    /// Note the end of the program, and end what is left of its session. Return how it ended, in words.
    fn end(&mut self) -> Result<String, Failure> {
        process::end_session(self.state.pid, GRACE).context("end the program's session")?;
        self.keep_output();
        self.state.ended_ns = Some(Realtime::now().ns());
        self.state.frozen = false;
        let ended = process::wait(self.state.pid).map(|(_, ended)| ended);
        let how = match ended {
            Some(Ended::Exit(code)) => {
                self.state.exit = Some(code);
                format!("with exit code {code}")
            }
            Some(Ended::Killed(signal)) => {
                self.state.killed = Some(signal);
                format!("by signal {signal}")
            }
            None => "unseen".to_owned(),
        };
        self.save()?;
        Ok(how)
    }

    fn save(&mut self) -> Result<(), Failure> {
        self.kept.save(&self.state)
    }

    /// Return the last lines of the output after a colon; nothing if there are none.
    fn last_lines(&self) -> String {
        let text = fs::read(&self.log.path).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&text))
    }
}

/// Return the last lines of a text after a colon. One alone is often the end of a sentence, as where zebra prints the
/// capabilities that it wants above those that it has.
fn last_lines(text: &str) -> String {
    let mut last: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let from = last.len().saturating_sub(LAST_LINES);
    last.drain(..from);
    if last.is_empty() { String::new() } else { format!(": {}", last.join(" / ")) }
}

/// The kept output: a file, and the one before it.
struct Log {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Log {
    fn create(path: PathBuf) -> io::Result<Self> {
        Ok(Self { file: File::create(&path)?, path, bytes: 0 })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes + bytes.len() as u64 > LOG_BYTES {
            fs::rename(&self.path, before(&self.path))?;
            self.file = File::create(&self.path)?;
            self.bytes = 0;
        }
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn the_last_lines_are_one() {
        assert_eq!(last_lines("\n \n"), "");
        assert_eq!(last_lines("broken\n"), ": broken");
        let zebra = "starting\nprivs_init: failed\nWanted caps: a,b=p\n\nHave   caps: a=p\n";
        assert_eq!(
            last_lines(zebra),
            ": privs_init: failed / Wanted caps: a,b=p / Have   caps: a=p"
        );
    }
}
