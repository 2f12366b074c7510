//! The console output of a guest or its command. Its end is kept in a file of the lab's run directory and
//! quoted if the guest fails.
//!
//! The file is not in the guest's folder, where the guest may replace it, and it is read by the descriptor that
//! created it: a name may lead elsewhere by then.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use delaylab_os::files::folder::Folder;

/// The extension of the file, after the name of the guest's agent.
const EXTENSION: &str = "console";
/// The number of lines that an error quotes.
const LAST_LINES: usize = 5;
/// The most characters that are quoted of a line: its end. A message holds no more than a datagram.
const LONGEST_LINE: usize = 300;
/// The largest size of the file in bytes; beyond it the beginning is dropped. A guest may write without end,
/// and the file may be in this machine's memory.
const LONGEST: u64 = 1 << 20;
/// The bytes kept of the end when the beginning is dropped; no more are read to quote them.
const KEPT: usize = 128 << 10;
/// The time to wait for the last output of an ended command: a process that it started may still hold its
/// output open.
const PATIENCE: Duration = Duration::from_millis(200);

/// The console of one guest.
pub(super) struct Console {
    file: File,
    /// Disconnected once all output is in the file.
    written: Receiver<()>,
}

impl Console {
    /// Start a thread that keeps the end of `output` in a new file of the run directory `place`, named after
    /// the guest's `agent`.
    pub(super) fn keep(
        place: &Folder,
        agent: &str,
        output: impl Read + Send + 'static,
    ) -> io::Result<Self> {
        let file = place.create_file(&format!("{agent}.{EXTENSION}"))?;
        let written_to = file.try_clone()?;
        let (done, written) = mpsc::channel();
        let thread = std::thread::Builder::new().name("console".into());
        thread.spawn(move || {
            // Nobody is left to report a full disk to; the existing output can still be quoted.
            let _ = copy(output, written_to);
            drop(done);
        })?;
        Ok(Self { file, written })
    }

    /// Return the end of the output in one line; empty if there was none. Blocks for up to 200 ms.
    pub(super) fn last_words(&self) -> String {
        // Either times out or is disconnected.
        let _ = self.written.recv_timeout(PATIENCE);
        last_lines(&String::from_utf8_lossy(&end_of(&self.file).unwrap_or_default()))
    }
}

/// Return the last [`KEPT`] bytes of a file, or all if it is shorter. Leaves the file's position alone.
fn end_of(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(KEPT as u64);
    let mut end = vec![0; KEPT.min(length as usize)];
    let mut filled = 0;
    while filled < end.len() {
        match file.read_at(&mut end[filled..], from + filled as u64)? {
            // The file was just cut down to its end.
            0 => break,
            count => filled += count,
        }
    }
    end.truncate(filled);
    Ok(end)
}

fn copy(mut output: impl Read, mut file: File) -> io::Result<()> {
    let mut piece = [0; 16 << 10];
    let mut length = 0;
    loop {
        let count = match output.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        file.write_all(&piece[..count])?;
        length += count as u64;
        if length > LONGEST {
            length = keep_end(&mut file)?;
        }
    }
}

/// Cut a file down to its end and return its new length.
fn keep_end(file: &mut File) -> io::Result<u64> {
    let end = end_of(file)?;
    file.set_len(0)?;
    file.write_all(&end)?;
    Ok(end.len() as u64)
}

/// Return the last lines of a console; after a kernel panic the lines up to its message, without the call
/// trace.
fn last_lines(console: &str) -> String {
    let plain = |line: &str| {
        let shown: Vec<char> = line.chars().filter(|c| !c.is_control()).collect();
        shown[shown.len().saturating_sub(LONGEST_LINE)..].iter().collect::<String>()
    };
    let lines: Vec<String> = console.lines().map(plain).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|l| !l.is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let end = panic.map_or(lines.len(), |at| at + 1);
    lines[end.saturating_sub(LAST_LINES)..end].join(" | ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_panic_is_the_last_word() {
        assert_eq!(last_lines("one\r\n\x1b\ntwo\n\n"), "one | two");
        assert_eq!(last_lines(&format!("{}end\n", "=".repeat(1 << 20))).len(), LONGEST_LINE);
        let console = "booting\nKernel panic - no memory\nCall Trace:\n [<60>] a\n [<61>] b\n";
        assert_eq!(last_lines(console), "booting | Kernel panic - no memory");
    }

    /// Run `act` with the console of an agent `a` that printed `text`, in a directory of its own.
    fn with_console(text: Vec<u8>, act: impl FnOnce(&Console, &Path)) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("delaylab-console-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        let console = Console::keep(&Folder::open(&path).unwrap(), "a", io::Cursor::new(text));
        act(&console.unwrap(), &path.join("a.console"));
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn of_a_guest_that_writes_without_end_the_end_is_kept() {
        let mut text = "line\n".repeat(1 << 20).into_bytes();
        text.extend(b"the last");
        with_console(text, |console, path| {
            assert_eq!(console.last_words(), "line | line | line | line | the last");
            assert!(fs::metadata(path).unwrap().len() <= LONGEST);
        });
    }

    #[test]
    fn the_file_is_never_opened_again_by_its_name() {
        with_console(b"said".to_vec(), |console, path| {
            assert_eq!(console.last_words(), "said");
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
            assert_eq!(console.last_words(), "said");
        });
    }

    #[test]
    fn of_a_file_that_was_made_longer_no_more_than_the_end_is_read() {
        with_console(b"said".to_vec(), |console, path| {
            assert_eq!(console.last_words(), "said");
            File::options().write(true).open(path).unwrap().set_len(1 << 40).unwrap();
            assert_eq!(end_of(&console.file).unwrap().len(), KEPT);
        });
    }
}
