//! Target `calls`: any bytes are the log of a recorded process, or damaged.

use delaylab_calls::{Call, Damage, Decoder, Encoder, Entry, HEADER, header};

use crate::Outcome;
use crate::mutate::{Field, Random, Seed};

/// The most entries of an input that are compared: a byte of a log may stand for 64 KiB.
const COMPARED: usize = 64;

/// Read a log. Accept it if all its entries are whole.
pub fn run(bytes: &[u8]) -> Outcome {
    let read = entries(bytes);
    if let Err(Damage::Length(length, found)) = read {
        assert!(length > found || length < HEADER, "{length} of {found} bytes are a log");
        // What comes after the header is read, too, or most mutations would not get past it.
        let _ = entries(&with_length(bytes));
    }
    let (all, count) = read.map_err(reason)?;
    let again = written(&all);
    let (same, _) = entries(&again).expect("what was written is read");
    assert_eq!(same, all, "entries changed");
    cut(bytes, &all, count);
    Ok(())
}

/// An entry with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    thread: u16,
    call: Call,
    fd: i32,
    result: i64,
    time: i64,
    given: Vec<u8>,
    got: Vec<u8>,
}

impl Kept {
    fn of(entry: &Entry<'_>) -> Self {
        let Entry { thread, call, fd, result, time, given, got } = *entry;
        Self { thread, call, fd, result, time, given: given.to_vec(), got: got.to_vec() }
    }

    fn entry(&self) -> Entry<'_> {
        let Self { thread, call, fd, result, time, ref given, ref got } = *self;
        Entry { thread, call, fd, result, time, given, got }
    }
}

/// Return the first entries of a log, and the number of all.
fn entries(log: &[u8]) -> Result<(Vec<Kept>, usize), Damage> {
    let mut decoder = Decoder::new(log)?;
    let mut kept = Vec::new();
    let mut count = 0;
    let mut at = decoder.position();
    while let Some(read) = decoder.next(log)? {
        assert!(at < decoder.position(), "an entry of no bytes");
        assert!(decoder.position() <= decoder.length(), "read beyond the end");
        at = decoder.position();
        count += 1;
        if kept.len() < COMPARED {
            kept.push(Kept::of(&decoder.entry(&read, log)));
        }
    }
    Ok((kept, count))
}

/// Assert that a log which ends earlier has the same entries, as far as they are whole.
fn cut(log: &[u8], all: &[Kept], count: usize) {
    let length = Decoder::new(log).expect("a log").length();
    let end = HEADER + (length - HEADER) / 2;
    match entries(&with_length(&log[..end])) {
        Ok((kept, fewer)) => {
            assert!(fewer <= count, "a part has more entries");
            assert_eq!(kept[..], all[..kept.len()], "a part has other entries");
        }
        Err(damage) => assert_eq!(damage, Damage::Short, "a part is damaged"),
    }
}

/// Return the bytes with their own length in the header.
fn with_length(bytes: &[u8]) -> Vec<u8> {
    let mut log = bytes.to_vec();
    let begin = log.len().min(HEADER);
    log[..begin].copy_from_slice(&header(bytes.len())[..begin]);
    log
}

fn reason(damage: Damage) -> String {
    match damage {
        Damage::Version(_) => "another version".into(),
        Damage::Length(..) => "another length".into(),
        other => other.to_string(),
    }
}

fn written(all: &[Kept]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    let mut log = header(0).to_vec();
    for kept in all {
        let entry = kept.entry();
        let begin = log.len();
        log.resize(begin + Encoder::most(&entry), 0);
        let length = encoder.encode(&entry, &mut log[begin..]);
        log.truncate(begin + length);
    }
    with_length(&log)
}

/// Generate a log of up to 30 calls. One in eight ends within an entry.
pub fn seed(random: &mut Random) -> Seed {
    let all: Vec<_> = (0..1 + random.below(30)).map(|_| kept(random)).collect();
    let mut bytes = written(&all);
    let good = random.below(8) != 0;
    if !good {
        // A new shape, and nothing after it.
        bytes.push(2);
        bytes = with_length(&bytes);
    }
    Seed { bytes, lengths: vec![Field { at: 16, width: 4, big_endian: false }], good }
}

fn kept(random: &mut Random) -> Kept {
    let call = random.pick(Call::ALL);
    let time = if call.is_timed() { random.bits() as i64 >> 3 } else { 0 };
    let result = random.pick(&[0, 1, -11, 300, i64::MIN, i64::MAX]);
    let fd = random.pick(&[-1, 0, 7, i32::MAX]);
    let thread = random.pick(&[0, 0, 0, 1, u16::MAX]);
    Kept { thread, call, fd, result, time, given: bytes(random), got: bytes(random) }
}

/// Generate a byte string: none, one of few that repeat, one that differs a little from them, or any.
fn bytes(random: &mut Random) -> Vec<u8> {
    let length = random.pick(&[1, 8, 44, 200]);
    match random.below(4) {
        0 => Vec::new(),
        1 => vec![length as u8; length],
        2 => {
            let mut bytes = vec![length as u8; length];
            bytes[random.below(length)] = 0xff;
            bytes
        }
        _ => random.bytes(length),
    }
}
