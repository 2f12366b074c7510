//! The console output of a guest or its command. Its end is kept in a file in the guest's folder and quoted
//! if the guest fails.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// The name of the file.
const FILE: &str = "console";
/// The number of lines that an error quotes.
const LAST_LINES: usize = 5;
/// The most characters that are quoted of a line: its end. A message holds no more than a datagram.
const LONGEST_LINE: usize = 300;
/// The largest size of the file in bytes; beyond it the beginning is dropped. A guest may write without end,
/// and the file may be in this machine's memory.
const LONGEST: u64 = 1 << 20;
/// The bytes kept of the end when the beginning is dropped.
const KEPT: usize = 128 << 10;
/// The time to wait for the last output of an ended command: a process that it started may still hold its
/// output open.
const PATIENCE: Duration = Duration::from_millis(200);

/// The console of one guest.
pub struct Console {
    path: PathBuf,
    /// Disconnected once all output is in the file.
    written: Receiver<()>,
}

impl Console {
    /// Start a thread that keeps the end of `output` in a file of the guest's folder.
    pub fn keep(folder: &Path, output: impl Read + Send + 'static) -> io::Result<Self> {
        let path = folder.join(FILE);
        let file = File::options().read(true).append(true).create(true).open(&path)?;
        let (done, written) = mpsc::channel();
        let thread = std::thread::Builder::new().name("console".into());
        thread.spawn(move || {
            // Nobody is left to report a full disk to; the existing output can still be quoted.
            let _ = copy(output, file);
            drop(done);
        })?;
        Ok(Self { path, written })
    }

    /// Return the end of the output in one line; empty if there was none. Blocks for up to 200 ms.
    pub fn last_words(&self) -> String {
        // Either times out or is disconnected.
        let _ = self.written.recv_timeout(PATIENCE);
        let text = fs::read(&self.path).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&text))
    }
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
    io::Seek::seek(file, io::SeekFrom::End(-(KEPT as i64)))?;
    let mut end = Vec::with_capacity(KEPT);
    file.read_to_end(&mut end)?;
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
    use super::*;

    #[test]
    fn a_panic_is_the_last_word() {
        assert_eq!(last_lines("one\r\n\x1b\ntwo\n\n"), "one | two");
        assert_eq!(last_lines(&format!("{}end\n", "=".repeat(1 << 20))).len(), LONGEST_LINE);
        let console = "booting\nKernel panic - no memory\nCall Trace:\n [<60>] a\n [<61>] b\n";
        assert_eq!(last_lines(console), "booting | Kernel panic - no memory");
    }

    #[test]
    fn of_a_guest_that_writes_without_end_the_end_is_kept() {
        let folder = std::env::temp_dir().join(format!("delaylab-console-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let mut text = "line\n".repeat(1 << 20).into_bytes();
        text.extend(b"the last");
        let console = Console::keep(&folder, io::Cursor::new(text)).unwrap();
        assert_eq!(console.last_words(), "line | line | line | line | the last");
        assert!(fs::metadata(folder.join(FILE)).unwrap().len() <= LONGEST);
        fs::remove_dir_all(&folder).unwrap();
    }
}
