//! The log of what an agent does, for finding faults: off unless the environment says otherwise
//! (docs/protocol.md, "Logs"). Nothing is logged per frame or packet.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;

use delaylab_os::files::folder::Folder;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The environment variable with the least level that is logged.
const VARIABLE: &str = "DELAYLAB_LOG";

/// The file of this process's log; standard error if there is none.
static FILE: Mutex<Option<File>> = Mutex::new(None);

/// Start to log to standard error if the environment names a level.
pub(crate) fn start() {
    let Ok(level) = std::env::var(VARIABLE) else { return };
    match level.parse::<LevelFilter>() {
        Ok(level) => tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .with_writer(Output)
            .init(),
        Err(_) => eprintln!(
            "delaylab-agent: {VARIABLE}={level} is no level: error, warn, info, debug or trace"
        ),
    }
}

/// Log to `agent-NAME.log` in a lab's run directory from now on, because nobody sees standard error. Only for
/// single-threaded processes.
pub(crate) fn to_file(place: &Folder, name: &str) {
    if LevelFilter::current() == LevelFilter::OFF {
        return;
    }
    let name = format!("agent-{name}.log");
    let opened = place.inside(|| {
        let mut options = File::options();
        options.append(true).create(true).mode(0o600).open(&name)
    });
    // A lab is not worth less without its log.
    if let (Ok(Ok(file)), Ok(mut current)) = (opened, FILE.lock()) {
        *current = Some(file);
    }
}

/// The writer of the log: a line at a time, so that lines of processes with one file do not mix.
struct Output;

impl MakeWriter<'_> for Output {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

impl Write for Output {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match FILE.lock().as_deref_mut() {
            Ok(Some(file)) => file.write(line),
            _ => io::stderr().write(line),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
