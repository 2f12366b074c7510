//! Logs are read as they were written; other bytes are refused and do no harm.

use delaylab_calls::{Call, Decoder, Encoder, Entry, HEADER, header};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Made {
    thread: u16,
    call: Call,
    fd: i32,
    result: i64,
    time: i64,
    given: Vec<u8>,
    got: Vec<u8>,
}

fn entry(made: &Made) -> Entry<'_> {
    let time = if made.call.is_timed() { made.time } else { 0 };
    let Made { thread, call, fd, result, ref given, ref got, .. } = *made;
    Entry { thread, call, fd, result, time, given, got }
}

fn written(all: &[Made]) -> Vec<u8> {
    let mut encoder = Encoder::new();
    let mut log = header(0).to_vec();
    for made in all {
        let entry = entry(made);
        let begin = log.len();
        log.resize(begin + Encoder::most(&entry), 0);
        let length = encoder.encode(&entry, &mut log[begin..]);
        log.truncate(begin + length);
    }
    let head = header(log.len());
    log[..HEADER].copy_from_slice(&head);
    log
}

fn assert_reads(log: &[u8], all: &[Made]) {
    let mut decoder = Decoder::new(log).unwrap();
    for made in all {
        let read = decoder.next(log).unwrap().expect("the log has all entries");
        assert_eq!(decoder.entry(&read, log), entry(made));
    }
    assert!(decoder.next(log).unwrap().is_none());
}

/// Return byte strings of few kinds, so that many repeat or differ little.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (0u8..4, 0usize..80, 0usize..80, any::<u8>()).prop_map(|(kind, length, at, byte)| {
            let mut bytes = vec![kind; length];
            if let Some(place) = bytes.get_mut(at) { *place = byte; }
            bytes
        }),
        1 => proptest::collection::vec(any::<u8>(), 0..300),
    ]
}

/// Return times of some centuries, in ns or whole µs.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![-(1i64 << 60)..1 << 60, (-(1i64 << 50)..1 << 50).prop_map(|us| us * 1000)]
}

fn made() -> impl Strategy<Value = Made> {
    let call = proptest::sample::select(Call::ALL);
    (0u16..3, call, -1i32..40, any::<i64>(), time(), bytes(), bytes()).prop_map(
        |(thread, call, fd, result, time, given, got)| {
            let result = if result % 3 == 0 { result } else { result % 5 };
            Made { thread, call, fd, result, time, given, got }
        },
    )
}

proptest! {
    #[test]
    fn entries_are_read_as_written(all in proptest::collection::vec(made(), 0..200)) {
        let mut log = written(&all);
        assert_reads(&log, &all);
        // What is behind the end of a file that grew in steps is not read.
        log.resize(log.len() + 100, 0);
        assert_reads(&log, &all);
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut log = header(HEADER + bytes.len()).to_vec();
        log.append(&mut bytes);
        read_all(&log);
    }

    #[test]
    fn changed_logs_are_read_or_refused(
        all in proptest::collection::vec(made(), 1..60), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut log = written(&all);
        let place = at.index(log.len());
        log[place] = byte;
        log.truncate(cut.index(log.len()) + 1);
        read_all(&log);
    }
}

fn read_all(log: &[u8]) {
    if let Ok(mut decoder) = Decoder::new(log) {
        let mut before = 0;
        while let Ok(Some(read)) = decoder.next(log) {
            let _ = decoder.entry(&read, log);
            assert!(decoder.position() > before, "each entry takes bytes");
            before = decoder.position();
        }
    }
}

#[test]
fn full_tables_begin_anew() {
    let all: Vec<_> = (0..70_000u32)
        .map(|number| Made {
            thread: 0,
            call: Call::Send,
            fd: 3,
            result: 500,
            time: 0,
            given: number.to_le_bytes().repeat(if number % 100 == 0 { 20_000 } else { 60 }),
            got: Vec::new(),
        })
        .collect();
    assert_reads(&written(&all), &all);
}

#[test]
fn a_repeated_call_takes_a_byte_and_its_time() {
    let poll = |time| {
        [
            Made {
                thread: 0,
                call: Call::Poll,
                fd: -1,
                result: 0,
                time: 0,
                given: vec![1; 64],
                got: vec![],
            },
            Made {
                thread: 0,
                call: Call::ClockGettime,
                fd: 1,
                result: 0,
                time,
                given: vec![],
                got: vec![],
            },
        ]
    };
    let few: Vec<_> = (0..10).flat_map(|turn| poll(turn * 1000)).collect();
    let many: Vec<_> = (0..110).flat_map(|turn| poll(turn * 1000)).collect();
    assert_eq!(written(&many).len() - written(&few).len(), 100 * (1 + 1 + 1));
}

#[test]
fn what_is_no_log_is_refused() {
    for bytes in [&b""[..], b"dlcalls", b"\x7fELF and so on and on", b"dlcalls\n\x01"] {
        assert!(Decoder::new(bytes).is_err());
    }
    let mut newer = header(HEADER);
    newer[8] = 9;
    let why = Decoder::new(&newer).err().expect("another version").to_string();
    assert_eq!(why, "it is a log of version 9, and this program reads 1");
}
