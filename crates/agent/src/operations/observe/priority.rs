//! The priority of the observer: it must hear of a change at once, and must not hold up those that make changes.

use std::time::{Duration, Instant};

use delaylab_os::process::scheduling::{self, RealTime};

/// The real-time priority: above that of probes (10), below that of forwarding threads (20).
const PRIORITY: i32 = 15;
/// The longest time without a wait in real time. A flood of changes comes from programs that want the CPU, too.
const LONGEST: Duration = Duration::from_millis(20);
/// The shortest wait that is a rest: others could run.
const REST: Duration = Duration::from_micros(200);

/// The priority of the calling thread, ordinary again on drop.
pub(super) struct Priority {
    realtime: Option<RealTime>,
    /// The end of the last wait.
    woken: Instant,
    eased: bool,
}

impl Priority {
    /// Take real-time priority if that is allowed, and the highest ordinary one otherwise.
    pub(super) fn take() -> Self {
        // Both improve timing, and neither is required.
        let _ = scheduling::no_timer_slack();
        let _ = scheduling::prefer();
        let realtime = RealTime::fifo(PRIORITY).ok();
        Self { realtime, woken: Instant::now(), eased: false }
    }

    pub(super) fn is_realtime(&self) -> bool {
        self.realtime.is_some()
    }

    /// Note that the thread has waited for so long. Continue as an ordinary thread after a long time without a rest, and
    /// in real time after a rest.
    pub(super) fn note_wait(&mut self, waited: Duration) {
        let Some(realtime) = &self.realtime else { return };
        if waited >= REST {
            self.woken = Instant::now();
            if self.eased && realtime.resume(PRIORITY).is_ok() {
                self.eased = false;
            }
        } else if !self.eased && self.woken.elapsed() > LONGEST && realtime.suspend().is_ok() {
            self.eased = true;
        }
    }
}
