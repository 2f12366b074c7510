//! The interrupts of each source on each CPU (proc_interrupts(5)).

use std::collections::BTreeMap;
use std::fs;

use crate::protocol::hiccups::InterruptCount;

/// The number of sources that are named.
const NAMED: usize = 5;
/// The most characters of a name.
const LONGEST: usize = 60;

/// All interrupts since the machine started.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Interrupts {
    cpus: BTreeMap<u32, u64>,
    sources: BTreeMap<String, u64>,
}

impl Interrupts {
    /// Read them; where the kernel does not show them there are no sources.
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/interrupts").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut lines = text.lines();
        let heads = lines.next().unwrap_or_default().split_ascii_whitespace();
        let cpus: Vec<u32> =
            heads.filter_map(|head| head.strip_prefix("CPU")?.parse().ok()).collect();
        for line in lines {
            let Some((number, rest)) = line.split_once(':') else { continue };
            let words: Vec<&str> = rest.split_ascii_whitespace().collect();
            let counts: Vec<u64> =
                words.iter().take(cpus.len()).map_while(|word| word.parse().ok()).collect();
            // Lines of errors have one number, which is of no CPU.
            if counts.len() < cpus.len() {
                continue;
            }
            for (cpu, count) in cpus.iter().zip(&counts) {
                *found.cpus.entry(*cpu).or_default() += count;
            }
            let name = name(number.trim(), &words[cpus.len()..]);
            *found.sources.entry(name).or_default() += counts.iter().sum::<u64>();
        }
        found
    }

    /// Return the number on one CPU since an earlier reading.
    pub(super) fn on(&self, cpu: u32, earlier: &Self) -> u64 {
        let count = |of: &Self| of.cpus.get(&cpu).copied().unwrap_or(0);
        count(self).saturating_sub(count(earlier))
    }

    /// Return the most frequent ones since an earlier reading.
    pub(super) fn most(&self, earlier: &Self) -> Vec<InterruptCount> {
        let before = |name: &String| earlier.sources.get(name).copied().unwrap_or(0);
        let count = |(name, count): (&String, &u64)| InterruptCount {
            name: name.clone(),
            count: count.saturating_sub(before(name)),
        };
        let mut found: Vec<InterruptCount> =
            self.sources.iter().map(count).filter(|one| one.count > 0).collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.count));
        found.truncate(NAMED);
        found
    }
}

/// Return the name of a source: the device of one with a number, else what the kernel says of it.
fn name(number: &str, words: &[&str]) -> String {
    let numbered = number.chars().all(|c| c.is_ascii_digit());
    let name = match words.last() {
        None => number.to_owned(),
        Some(device) if numbered => (*device).to_owned(),
        Some(_) => words.join(" "),
    };
    let plain = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '_' };
    name.chars().map(plain).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_counted_by_cpu_and_by_source() {
        let text = |first: u64| {
            format!(
                "           CPU0       CPU2\n  1: {first} 5 IO-APIC 1-edge i8042\n\
                 LOC: 100 200 Local timer interrupts\nERR: 7\n"
            )
        };
        let (before, after) = (Interrupts::parse(&text(3)), Interrupts::parse(&text(13)));
        assert_eq!((after.on(0, &before), after.on(2, &before), after.on(1, &before)), (10, 0, 0));
        let most: Vec<_> =
            after.most(&before).into_iter().map(|one| (one.name, one.count)).collect();
        assert_eq!(most, [("i8042".to_owned(), 10)]);
        assert_eq!(after.most(&Interrupts::default())[0].name, "Local timer interrupts");
    }
}
