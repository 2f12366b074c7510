//! Flow control: a limit on the bytes that one side may send before the other confirms that it has used some.

/// The limit on bytes of standard input under way to a command that has not read them: 128 KiB. They fit into
/// a Unix socket's buffer, so that a client never blocks on a write.
pub const STDIN_WINDOW: u64 = 128 << 10;
/// The window that delaylab's clients give to a command's output: 1 MiB (`window` of `exec`).
pub const OUTPUT_WINDOW: u64 = 1 << 20;

/// A flow control window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    size: u64,
    under_way: u64,
}

impl Window {
    /// Build a window of `size` bytes, none of them under way.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self { size, under_way: 0 }
    }

    /// Return how many bytes may be sent now.
    #[must_use]
    pub fn room(&self) -> usize {
        usize::try_from(self.size.saturating_sub(self.under_way)).unwrap_or(usize::MAX)
    }

    /// Count bytes that were sent or received.
    pub fn sent(&mut self, bytes: usize) {
        self.under_way = self.under_way.saturating_add(bytes as u64);
    }

    /// Count bytes that the other side has used. A count beyond the bytes under way empties the window.
    pub fn used(&mut self, bytes: u64) {
        self.under_way = self.under_way.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_can_be_sent_again_and_never_more() {
        let mut window = Window::new(10);
        window.sent(8);
        assert_eq!(window.room(), 2);
        window.sent(5);
        assert_eq!(window.room(), 0);
        window.used(4);
        assert_eq!(window.room(), 1);
        window.used(u64::MAX);
        assert_eq!(window.room(), 10);
    }
}
