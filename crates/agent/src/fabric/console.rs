//! What a guest or its command wrote: a file in the guest's folder, quoted when it fails.

use std::fs;
use std::path::Path;

/// The file's name.
pub const FILE: &str = "console";
/// How many lines an error quotes.
const LAST_LINES: usize = 5;

/// The end of the console in a guest's folder, in one line; empty if nothing was written.
pub fn last_words(folder: &Path) -> String {
    let text = fs::read(folder.join(FILE)).unwrap_or_default();
    last_lines(&String::from_utf8_lossy(&text))
}

/// The end of a console; of a kernel that panicked, why it did rather than where.
fn last_lines(console: &str) -> String {
    let plain = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let lines: Vec<String> = console.lines().map(plain).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|l| !l.is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains("Kernel panic"));
    let end = panic.map_or(lines.len(), |at| at + 1);
    lines[end.saturating_sub(LAST_LINES)..end].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn a_panic_is_the_last_word() {
        assert_eq!(last_lines("one\r\n\x1b\ntwo\n\n"), "one | two");
        let console = "booting\nKernel panic - no memory\nCall Trace:\n [<60>] a\n [<61>] b\n";
        assert_eq!(last_lines(console), "booting | Kernel panic - no memory");
    }
}
