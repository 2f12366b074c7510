//! Queries of DNS for one record, and the header of their answers (RFC 1035, section 4).

use crate::be;

/// The length of a message's header, in bytes.
const HEADER: usize = 12;
/// The flags of the header: a response, cut to fit a datagram, and recursion desired.
const RESPONSE: u16 = 0x8000;
const CUT: u16 = 0x0200;
const RECURSION: u16 = 0x0100;
/// The bits of the response code.
const CODE: u16 = 0x000f;
/// The class of the Internet's names.
const INTERNET: u16 = 1;
/// The longest name and the longest of its labels, in bytes, as they are sent.
const LONGEST_NAME: usize = 255;
const LONGEST_LABEL: usize = 63;

/// A query for one record of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsQuery {
    /// The question as it is sent: name, type and class.
    question: Vec<u8>,
}

/// The header of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsAnswer {
    /// The response code, 0 for no error (RFC 6895, section 2.3).
    pub code: u8,
    /// True if the answer was cut to fit the datagram.
    pub cut: bool,
}

impl DnsQuery {
    /// Build a query for a record of this type. Return `None` if the name is not one of DNS.
    #[must_use]
    pub fn new(name: &str, record: u16) -> Option<Self> {
        let mut question = Vec::with_capacity(name.len() + 6);
        let name = name.strip_suffix('.').unwrap_or(name);
        for label in name.split('.').filter(|_| !name.is_empty()) {
            if !(1..=LONGEST_LABEL).contains(&label.len()) || !label.is_ascii() {
                return None;
            }
            question.push(label.len() as u8);
            question.extend_from_slice(label.as_bytes());
        }
        question.push(0);
        if question.len() > LONGEST_NAME {
            return None;
        }
        question.extend_from_slice(&record.to_be_bytes());
        question.extend_from_slice(&INTERNET.to_be_bytes());
        Some(Self { question })
    }

    /// Return the message with this identifier; it asks for recursion.
    #[must_use]
    pub fn message(&self, id: u16) -> Vec<u8> {
        let counts: [u16; 6] = [id, RECURSION, 1, 0, 0, 0];
        let mut bytes: Vec<u8> = counts.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend_from_slice(&self.question);
        bytes
    }

    /// Return the header of the answer to the query with this identifier; `None` if a message is no such answer.
    /// Names are compared without regard to case.
    #[must_use]
    pub fn answer(&self, id: u16, message: &[u8]) -> Option<DnsAnswer> {
        let question = message.get(HEADER..HEADER + self.question.len());
        let flags = be::u16(message.get(..HEADER)?, 2);
        let is_answer = be::u16(message, 0) == id && flags & RESPONSE != 0;
        let asked = be::u16(message, 4) == 1
            && question.is_some_and(|bytes| bytes.eq_ignore_ascii_case(&self.question));
        // A server that cannot read the question need not repeat it (RFC 6895, section 2.3: FormErr, ServFail).
        let unread = be::u16(message, 4) == 0 && matches!(flags & CODE, 1 | 2 | 4 | 5);
        let answer = DnsAnswer { code: (flags & CODE) as u8, cut: flags & CUT != 0 };
        (is_answer && (asked || unread)).then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_query_is_these_bytes() {
        let query = DnsQuery::new("a.example.", 28).unwrap();
        let expected = b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x1c\0\x01";
        assert_eq!(query.message(0x1234), expected);
    }

    #[test]
    fn names_that_dns_does_not_have_are_refused() {
        let long = "a".repeat(64);
        let longest = ["a".repeat(63).as_str(); 4].join(".");
        for name in ["a..b", ".a", long.as_str(), "ü.example", longest.as_str()] {
            assert_eq!(DnsQuery::new(name, 1), None, "{name}");
        }
        assert!(DnsQuery::new(".", 2).is_some(), "the root");
        assert!(DnsQuery::new(&longest[..253], 2).is_some());
    }

    #[test]
    fn only_an_answer_to_the_query_is_one() {
        let query = DnsQuery::new("a.example", 1).unwrap();
        let mut message = query.message(7);
        assert_eq!(query.answer(7, &message), None, "the query itself");
        message[2] |= 0x80;
        message[3] = 0x83;
        message[HEADER + 1] = b'A';
        let expected = DnsAnswer { code: 3, cut: false };
        assert_eq!(query.answer(7, &message), Some(expected));
        assert_eq!(query.answer(8, &message), None, "another identifier");
        assert_eq!(DnsQuery::new("b.example", 1).unwrap().answer(7, &message), None);
        assert_eq!(query.answer(7, &message[..20]), None, "cut within the question");
        assert_eq!(query.answer(7, b"\0\x07\x80\x01\0\0\0\0\0\0\0\0").unwrap().code, 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..80), id: u16) {
            let query = DnsQuery::new("example", 1).unwrap();
            let _ = query.answer(id, &bytes);
            let own = [query.message(id), bytes].concat();
            prop_assert_eq!(query.answer(id, &own), None);
        }
    }
}
