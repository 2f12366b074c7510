//! Flow control: how much one side may send before the other says that it has used some of it.

/// How many bytes of standard input may be under way to a command that has not read them: 128 KiB. They fit into a
/// Unix socket's buffer, so that a client never waits while it writes.
pub const STDIN_WINDOW: u64 = 128 << 10;

/// The bytes that may still be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    size: u64,
    under_way: u64,
}

impl Window {
    /// A window of `size` bytes, of which none are under way.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self { size, under_way: 0 }
    }

    /// Return how many bytes may be sent now.
    #[must_use]
    pub fn room(&self) -> usize {
        usize::try_from(self.size.saturating_sub(self.under_way)).unwrap_or(usize::MAX)
    }

    /// Count bytes that were sent, or have come.
    pub fn sent(&mut self, bytes: usize) {
        self.under_way = self.under_way.saturating_add(bytes as u64);
    }

    /// Count bytes that the other side has used. More than are under way count as all of them.
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
