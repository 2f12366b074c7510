//! `apart`: a recorded program runs again with its own files and nothing else of this machine.
//!
//! Whoever made the recording need not be trusted: the program has no capability, no network, no other user's rights and
//! no other process, and few system calls. All of it ends with the process: mounts and namespaces belong to nobody else.

mod root;

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use delaylab_os::files::descriptor;
use delaylab_os::files::mount;
use delaylab_os::files::poll::{self, Interest};
use delaylab_os::process::end_signals::end_like;
use delaylab_os::process::namespace::{self, Namespaces};
use delaylab_os::process::{self, Ended, Side, memory, rights};
use delaylab_proto::{Context, Failure};

use root::Files;

/// The number by which a replay's page says that this failed (`End` in `src/delaylab/replaying/replay.py`).
const FAILED: u32 = 7;
/// The bytes of a page, and those before its text.
const PAGE: usize = 4096;
const HEAD: usize = 24;
/// The most bytes that the program writes to a file; the page is the only one that it may write to.
const MOST_BYTES: u64 = 1 << 20;

/// A program, and the files that it has.
#[derive(Args)]
pub struct Apart {
    #[command(flatten)]
    files: Files,
    /// The descriptor of its words: its path, the name by which it is called, and its arguments, each with a zero at its
    /// end.
    #[arg(long)]
    words: i32,
    /// The descriptor of its variables, `NAME=VALUE`, each with a zero at its end.
    #[arg(long)]
    variables: i32,
    /// The descriptor of the page that says how the replay ended.
    #[arg(long)]
    page: i32,
    /// A descriptor for what it prints, in place of standard output and error.
    #[arg(long)]
    output: Option<i32>,
    /// The process without which this one ends.
    #[arg(long)]
    parent: Option<i32>,
    /// Become the program, for a debugger that follows this process: it is then in the debugger's PID namespace.
    #[arg(long)]
    debugged: bool,
    /// The program, which a debugger adds; it is among the words already.
    #[arg(last = true)]
    ignored: Vec<OsString>,
}

/// The program, as it is to be run.
struct Program {
    words: Vec<OsString>,
    variables: Vec<OsString>,
}

/// Run the program, and end as it ends. A failure is said in the page alone, unless that fails, too.
pub fn run(given: &Apart) -> Result<ExitCode, Failure> {
    let page = fs::OpenOptions::new().write(true).open(path_of(given.page));
    let page = page.context("open the page of the replay")?;
    let failure = match separate(given, &page) {
        Ok(ended) => end_like(ended),
        Err(failure) => failure,
    };
    say(&page, &failure).map_err(|_| failure)?;
    Ok(ExitCode::FAILURE)
}

fn say(page: &File, failure: &Failure) -> io::Result<()> {
    let text = failure.to_string();
    let text = &text.as_bytes()[..text.len().min(PAGE - HEAD)];
    let length = u32::try_from(text.len()).unwrap_or(0);
    let mut bytes = [FAILED.to_le_bytes(), length.to_le_bytes()].concat();
    bytes.resize(HEAD, 0);
    bytes.extend(text);
    page.write_all_at(&bytes, 0)
}

/// Take namespaces of its own, and run the program there. Return how it ended.
fn separate(given: &Apart, page: &File) -> Result<Ended, Failure> {
    if let Some(parent) = given.parent {
        process::die_with_parent().context("follow the parent")?;
        if process::parent() != parent {
            return Err(Failure::new("follow the parent", "it has ended"));
        }
    }
    let program = Program { words: list_of(given.words)?, variables: list_of(given.variables)? };
    if let Some(output) = given.output {
        let output = descriptor::inherited(output).context("print")?;
        descriptor::print_to(&output).context("print")?;
    }
    let is_root = unshare(given.debugged).context("take namespaces of its own")?;
    if given.debugged {
        let Err(failure) = enter(given, is_root).and_then(|()| become_it(&program));
        return Err(failure);
    }
    let (alive, end) = descriptor::pipe().context("start the first process")?;
    let (ended, says) = descriptor::pipe().context("start the first process")?;
    match process::fork().context("start the first process")? {
        Side::Parent(_) => {
            drop((alive, says));
            let mut text = String::new();
            File::from(ended).read_to_string(&mut text).context("wait for the program")?;
            drop(end);
            read_end(&text).ok_or_else(|| Failure::new("run the program", "it was killed"))
        }
        Side::Child => {
            drop((end, ended));
            let done = first(given, is_root, &program, page, &alive);
            let written = match done {
                Ok(ended) => File::from(says).write_all(write_end(ended).as_bytes()),
                Err(failure) => say(page, &failure).and_then(|()| {
                    File::from(says).write_all(write_end(Ended::Exit(1)).as_bytes())
                }),
            };
            end_like(Ended::Exit(i32::from(written.is_err())))
        }
    }
}

/// Be the first process of the namespace, with which all others end. Start the program and wait for its end.
fn first(
    given: &Apart,
    is_root: bool,
    program: &Program,
    page: &File,
    alive: &OwnedFd,
) -> Result<Ended, Failure> {
    enter(given, is_root)?;
    // Now, *because* a change of the user forgets it.
    process::die_with_parent().context("follow the parent")?;
    let on = [(alive.as_fd(), Interest::Read)];
    if poll::wait(&on, Some(std::time::Duration::ZERO)).context("follow the parent")?[0] {
        return Err(Failure::new("follow the parent", "it has ended"));
    }
    match process::fork().context("start the program")? {
        Side::Child => {
            let Err(failure) = become_it(program);
            let _ = say(page, &failure);
            end_like(Ended::Exit(1));
        }
        Side::Parent(pid) => {
            while let Some((which, ended)) = process::wait_any() {
                if which == pid {
                    return Ok(ended);
                }
            }
            Err(Failure::new("wait for the program", "it has no end"))
        }
    }
}

/// Take namespaces of its own. Return true if this is the machine's root, and not that of a user namespace.
fn unshare(debugged: bool) -> io::Result<bool> {
    let mut own = Namespaces::CLONE_NEWNS | Namespaces::CLONE_NEWNET | Namespaces::CLONE_NEWIPC;
    if !debugged {
        // A debugger follows one process, and this one's children alone are in such a namespace.
        own |= Namespaces::CLONE_NEWPID;
    }
    let (user, group) = namespace::user();
    let is_root = user == 0;
    if is_root {
        namespace::unshare(own)?;
    } else {
        namespace::unshare(own | Namespaces::CLONE_NEWUSER)?;
        namespace::map_to_root(user, group)?;
    }
    mount::make_private()?;
    Ok(is_root)
}

/// Give up all files but the program's, and all rights.
fn enter(given: &Apart, is_root: bool) -> Result<(), Failure> {
    given.files.become_root().context("make a root of the program's files")?;
    rights::capabilities::limit(&[]).context("limit the capabilities of a node")?;
    if is_root {
        rights::become_nobody().context("give up root's rights")?;
    }
    rights::never_gain().context("give up rights")
}

fn become_it(program: &Program) -> Result<Infallible, Failure> {
    let [path, name, arguments @ ..] = &program.words[..] else {
        return Err(Failure::new("run the program", "it has no name"));
    };
    let what = || format!("run {}", Path::new(path).display());
    memory::keep_addresses().with_context(what)?;
    rights::limit_use(MOST_BYTES).with_context(what)?;
    let mut command = Command::new(path);
    command.arg0(name).args(arguments).env_clear();
    for variable in &program.variables {
        let bytes = variable.as_bytes();
        if let Some(at) = bytes.iter().position(|byte| *byte == b'=') {
            command.env(OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..]));
        }
    }
    rights::system_calls::allow_computing().with_context(what)?;
    Err(command.exec()).with_context(what)
}

fn path_of(number: i32) -> PathBuf {
    format!("/proc/self/fd/{number}").into()
}

/// Return the texts of a descriptor that each end with a zero, and close it.
fn list_of(number: i32) -> Result<Vec<OsString>, Failure> {
    let what = "read what to run";
    let file = File::from(descriptor::inherited(number).context(what)?);
    let length = usize::try_from(file.metadata().context(what)?.len()).unwrap_or(0);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0).context(what)?;
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(bytes.split(|byte| *byte == 0).map(|it| OsString::from_vec(it.to_vec())).collect())
}

fn write_end(ended: Ended) -> String {
    match ended {
        Ended::Exit(code) => format!("exit {code}"),
        Ended::Killed(signal) => format!("killed {signal}"),
    }
}

fn read_end(text: &str) -> Option<Ended> {
    let (how, number) = text.split_once(' ')?;
    let number = number.parse().ok()?;
    Some(if how == "exit" { Ended::Exit(number) } else { Ended::Killed(number) })
}
