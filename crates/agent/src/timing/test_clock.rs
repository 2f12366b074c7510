//! A known error of the clock, for tests of the comparison of clocks: what this agent tells of its kernel's clock is
//! shifted, drifts, and steps. Stamps and packets' times in tables, the answer to `clock` and the clock's name have
//! it; the kernel's clock stays as it is, and so do all other times.

use std::io;
use std::sync::LazyLock;

use delaylab_os::clock;

/// The variable of the environment with the error: `OFFSET_NS:DRIFT_PPB:STEP_NS:AT_NS`, four whole numbers. At the
/// time `AT_NS` since the Unix epoch the clock is off by `OFFSET_NS`. The drift counts from there, and the step comes
/// then.
const VARIABLE: &str = "DELAYLAB_TEST_CLOCK";

static ERROR: LazyLock<Option<Wrong>> =
    LazyLock::new(|| std::env::var(VARIABLE).ok().and_then(|text| Wrong::read(&text)));

/// The error of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wrong {
    offset_ns: i64,
    drift_ppb: i64,
    step_ns: i64,
    at_ns: i64,
}

impl Wrong {
    fn read(text: &str) -> Option<Self> {
        let numbers: Vec<i64> = text.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
        let [offset_ns, drift_ppb, step_ns, at_ns] = numbers[..] else { return None };
        Some(Self { offset_ns, drift_ppb, step_ns, at_ns })
    }

    fn shown(self, time_ns: i64) -> i64 {
        let since = i128::from(time_ns) - i128::from(self.at_ns);
        let drifted = since * i128::from(self.drift_ppb) / 1_000_000_000;
        let step = if since >= 0 { self.step_ns } else { 0 };
        time_ns + self.offset_ns + step + i64::try_from(drifted).unwrap_or(0)
    }
}

/// Return the time that this agent's clock shows at a time of the kernel's clock: the same time, but in tests.
pub(crate) fn shown(time_ns: i64) -> i64 {
    ERROR.map_or(time_ns, |wrong| wrong.shown(time_ns))
}

/// Return the name of this agent's clock: the kernel's (`clock::name`), but in tests.
pub(crate) fn name() -> io::Result<String> {
    let name = clock::name()?;
    Ok(match *ERROR {
        None => name,
        Some(wrong) => format!("{name}+{}:{}", wrong.offset_ns, wrong.drift_ppb),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_drift_and_step_add_up() {
        let wrong = Wrong::read("5000:30000:-700:1000000000").unwrap();
        assert_eq!(wrong.shown(0), 5000 - 30_000);
        assert_eq!(wrong.shown(999_999_999), 1_000_004_999);
        assert_eq!(wrong.shown(1_000_000_000), 1_000_004_300);
        assert_eq!(wrong.shown(2_000_000_000), 2_000_004_300 + 30_000);
    }

    #[test]
    fn anything_else_is_no_error_of_a_clock() {
        for text in ["", "1", "1:2:3", "1:2:3:x", "1:2:3:4:5"] {
            assert_eq!(Wrong::read(text), None, "{text}");
        }
        assert_eq!(shown(7), 7);
    }
}
