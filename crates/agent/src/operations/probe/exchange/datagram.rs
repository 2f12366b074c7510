//! Datagrams of somebody else's protocol: the message that is sent, and the answer that counts.

use delaylab_proto::Failure;
use delaylab_wire::dns::DnsQuery;

use crate::protocol::measuring::{Probe, Protocol};

/// The byte of a pattern that stands for any bytes.
const ANY: &str = "*";

/// The answer that a probe waits for, and what it sends.
#[derive(Debug)]
pub(crate) enum Wanted {
    Dns(DnsQuery),
    /// A payload, and the parts of the answer's pattern between which there may be any bytes.
    Payload(Vec<u8>, Vec<Vec<u8>>),
}

/// The meaning of a datagram for the packet that it came for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The answer, by DNS with its response code, and whether it was cut.
    Answer { code: Option<u16>, cut: bool },
    /// It does not fit what was asked for.
    Another,
}

impl Wanted {
    /// Return what a request asks for; fail if it does not say that.
    pub(crate) fn of(request: &Probe) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::new("read the request `probe`", why);
        if request.protocol == Protocol::Dns {
            let question = request.asked().question.as_ref();
            let question =
                question.ok_or_else(|| refuse("a probe by DNS has a question".into()))?;
            let query = DnsQuery::new(&question.name, question.record);
            let named = query.ok_or_else(|| refuse(format!("{} is no name", question.name)))?;
            return Ok(Self::Dns(named));
        }
        let bytes =
            |text: &str| hex(text).ok_or_else(|| refuse(format!("{text} is not hexadecimal")));
        let parts = request.asked().answer.split(ANY).map(bytes).collect::<Result<_, _>>()?;
        Ok(Self::Payload(bytes(&request.asked().payload)?, parts))
    }

    /// Return the message with this identifier.
    pub(crate) fn message(&self, id: u16) -> Vec<u8> {
        match self {
            Self::Dns(query) => query.message(id),
            Self::Payload(payload, _) => payload.clone(),
        }
    }

    /// Return what a datagram is to the message with this identifier.
    pub(crate) fn verdict(&self, id: u16, datagram: &[u8]) -> Verdict {
        match self {
            Self::Dns(query) => match query.answer(id, datagram) {
                Some(answer) => Verdict::Answer { code: Some(answer.code.into()), cut: answer.cut },
                None => Verdict::Another,
            },
            Self::Payload(_, parts) if fits(datagram, parts) => {
                Verdict::Answer { code: None, cut: false }
            }
            Self::Payload(..) => Verdict::Another,
        }
    }
}

/// Return true if bytes are the parts in their order, with any bytes between them. A single empty part fits all.
fn fits(bytes: &[u8], parts: &[Vec<u8>]) -> bool {
    match parts {
        [whole] => whole.is_empty() || bytes == whole,
        [first, between @ .., last] => {
            let Some(mut rest) = bytes.strip_prefix(&first[..]) else { return false };
            for part in between.iter().filter(|part| !part.is_empty()) {
                let Some(at) = rest.windows(part.len()).position(|window| window == part) else {
                    return false;
                };
                rest = &rest[at + part.len()..];
            }
            rest.ends_with(last)
        }
        [] => true,
    }
}

/// Return the bytes of hexadecimal digits.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| digit.to_digit(16).map(|value| value as u8))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Return what an answer of DNS is if it is no whole success, which `None` stands for (RFC 6895, section 2.3).
pub(crate) fn flaw_of_dns(code: u16, cut: bool) -> Option<String> {
    let name = match code {
        0 if cut => return Some("the answer was cut to fit a datagram".into()),
        0 => return None,
        1 => "FORMERR",
        2 => "SERVFAIL",
        3 => "NXDOMAIN",
        4 => "NOTIMP",
        5 => "REFUSED",
        other => return Some(format!("DNS response code {other}")),
    };
    Some(format!("DNS {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_fits_its_pattern() {
        let fitting = |pattern: &str, bytes: &[u8]| {
            let parts: Vec<Vec<u8>> = pattern.split(ANY).map(|part| hex(part).unwrap()).collect();
            fits(bytes, &parts)
        };
        for (pattern, bytes, expected) in [
            ("", &b"anything"[..], true),
            ("6f6b", b"ok", true),
            ("6f6b", b"ok!", false),
            ("6f6b*", b"ok!", true),
            ("*6b", b"ok", true),
            ("6f*6f", b"o", false),
            ("*62*64*", b"abcde", true),
            ("*64*62*", b"abcde", false),
            ("61**65", b"abcde", true),
        ] {
            assert_eq!(fitting(pattern, bytes), expected, "{pattern} {bytes:?}");
        }
    }

    #[test]
    fn only_pairs_of_digits_are_bytes() {
        assert_eq!(hex("00fF"), Some(vec![0, 255]));
        assert_eq!(["0", "0g", "+1"].map(hex), [None, None, None]);
    }

    #[test]
    fn failures_of_dns_have_their_names() {
        assert_eq!(flaw_of_dns(0, false), None);
        assert_eq!(flaw_of_dns(3, true).as_deref(), Some("DNS NXDOMAIN"));
        assert_eq!(flaw_of_dns(16, false).as_deref(), Some("DNS response code 16"));
        assert!(flaw_of_dns(0, true).is_some());
    }
}
