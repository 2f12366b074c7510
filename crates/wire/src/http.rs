//! The status line of an HTTP/1 response (RFC 9112, section 4).

/// The length of a status line up to its status code, in bytes.
pub const STATUS: usize = "HTTP/1.1 200".len();

/// Return the status code at the start of a response; `None` if it is no response of HTTP/1, or ends before its
/// status code does.
pub fn status(response: &[u8]) -> Option<u16> {
    let digits = match response.get(..STATUS)? {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor, b' ', digits @ ..]
            if minor.is_ascii_digit() =>
        {
            digits
        }
        _ => return None,
    };
    let ends = response.get(STATUS).is_none_or(|byte| b" \r\n".contains(byte));
    if !ends || !digits.iter().all(u8::is_ascii_digit) || digits[0] == b'0' {
        return None;
    }
    Some(digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn status_lines_of_servers() {
        for (line, code) in [
            (&b"HTTP/1.1 204 No Content\r\n"[..], Some(204)),
            (b"HTTP/1.0 200 OK\r\n", Some(200)),
            (b"HTTP/1.1 404\r\n", Some(404)),
            (b"HTTP/1.1 301", Some(301)),
            (b"HTTP/1.1 30", None),
            (b"HTTP/2 200 OK\r\n", None),
            (b"HTTP/1.1 2000 OK", None),
            (b"HTTP/1.1 099 ?", None),
            (b"HTTP/1.1  20 OK", None),
            (b"SSH-2.0-OpenSSH_9.2\r\n", None),
            (b"", None),
        ] {
            assert_eq!(status(line), code, "{}", String::from_utf8_lossy(line));
        }
    }

    proptest! {
        #[test]
        fn any_code_is_read_back(code in 100u16..1000, rest in "[ \r][ -~]{0,20}") {
            prop_assert_eq!(status(format!("HTTP/1.1 {code}{rest}").as_bytes()), Some(code));
        }

        #[test]
        fn any_bytes_are_a_code_of_three_digits_or_none(
            bytes in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            prop_assert!(status(&bytes).is_none_or(|code| (100..1000).contains(&code)));
        }
    }
}
