//! Requests to a container engine by HTTP/1.0 over its Unix socket: the end of an answer is that of its connection.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use delaylab_proto::{Context, Failure};
use serde_json::Value;

/// The longest answer that is read as a whole, in bytes.
const LONGEST: u64 = 16 << 20;

/// A container engine, by its socket.
#[derive(Clone)]
pub(super) struct Engine {
    pub(super) socket: PathBuf,
}

/// The answer to a request: its status, and its body, which is not read yet.
struct Answer {
    status: u16,
    body: BufReader<UnixStream>,
}

impl Engine {
    /// Return true if the engine answers.
    pub(super) fn answers(&self) -> bool {
        self.socket.exists() && self.get("/_ping").is_ok()
    }

    /// Return what the engine has at a path, `None` if it has nothing there.
    pub(super) fn find(&self, path: &str) -> Result<Option<Value>, Failure> {
        let answer = self.request("GET", path, None)?;
        if answer.status == 404 { Ok(None) } else { self.value("GET", path, answer).map(Some) }
    }

    /// Return what the engine has at a path.
    pub(super) fn get(&self, path: &str) -> Result<Value, Failure> {
        self.value("GET", path, self.request("GET", path, None)?)
    }

    /// Send a value to a path, nothing if it is null; return the answer, null if it is empty.
    pub(super) fn post(&self, path: &str, value: &Value) -> Result<Value, Failure> {
        let text = if value.is_null() { String::new() } else { value.to_string() };
        let answer = self.request("POST", path, Some((&mut text.as_bytes(), text.len() as u64)))?;
        self.value("POST", path, answer)
    }

    /// Remove what the engine has at a path.
    pub(super) fn delete(&self, path: &str) -> Result<(), Failure> {
        self.value("DELETE", path, self.request("DELETE", path, None)?).map(drop)
    }

    /// Send a file to a path; return the first line of the answer. A later line may be an error.
    pub(super) fn send(&self, path: &str, mut file: File) -> Result<Value, Failure> {
        let what = || format!("send a file to the container engine: {}", self.socket.display());
        let length = file.metadata().with_context(what)?.len();
        let answer = self.request("POST", path, Some((&mut file, length)))?;
        self.value("POST", path, answer)
    }

    /// Return the lines that the engine sends from a path on, which have no end while it lives.
    pub(super) fn lines(
        &self,
        path: &str,
    ) -> Result<impl Iterator<Item = io::Result<String>> + use<>, Failure> {
        Ok(self.request("GET", path, None)?.body.lines())
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<(&mut dyn Read, u64)>,
    ) -> Result<Answer, Failure> {
        let what = || format!("ask the container engine at {}", self.socket.display());
        self.ask(method, path, body).with_context(what)
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<(&mut dyn Read, u64)>,
    ) -> io::Result<Answer> {
        let mut stream = UnixStream::connect(&self.socket)?;
        let length = body.as_ref().map_or(0, |(_, length)| *length);
        let kind = if path.starts_with("/images/") { "x-tar" } else { "json" };
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nContent-Type: application/{kind}\r\nContent-Length: {length}\r\n\r\n"
        )?;
        if let Some((body, length)) = body {
            // An engine that refuses a file answers before it has read all of it.
            let _ = io::copy(&mut body.take(length), &mut stream);
        }
        read_head(BufReader::new(stream))
    }

    /// Return the answer's value, or a failure with what the engine says of an error.
    fn value(&self, method: &str, path: &str, answer: Answer) -> Result<Value, Failure> {
        let what = || format!("{method} {path} at {}", self.socket.display());
        let mut text = String::new();
        answer.body.take(LONGEST).read_to_string(&mut text).with_context(what)?;
        let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let values: Vec<_> = values.map_while(Result::ok).collect();
        let said = |name| values.iter().find_map(|value| value[name].as_str());
        let failed = answer.status >= 400;
        match said("error").or(failed.then(|| said("message").unwrap_or("it refused"))) {
            Some(why) => Err(Failure::new("container engine", why.lines().next().unwrap_or(why))),
            None => Ok(values.into_iter().next().unwrap_or(Value::Null)),
        }
    }
}

fn read_head(mut stream: BufReader<UnixStream>) -> io::Result<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
    let Some(status) = status else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its answer is not HTTP"));
    };
    while !line.trim_end().is_empty() {
        line.clear();
        stream.read_line(&mut line)?;
    }
    Ok(Answer { status, body: stream })
}

/// Return a text as a part of a URL's query.
pub(super) fn quoted(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// Answer one request with a text; return the answer's meaning, and the request.
    fn exchanged(
        answer: &'static str,
        ask: impl FnOnce(&Engine) -> Result<Option<Value>, Failure>,
    ) -> (Result<Option<Value>, Failure>, String) {
        let folder = std::env::temp_dir().join(format!("http-{:?}", thread::current().id()));
        let _ = std::fs::remove_file(&folder);
        let listener = UnixListener::bind(&folder).unwrap();
        let other = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                reader.read_line(&mut head).unwrap();
            }
            if let Some((_, rest)) = head.split_once("Content-Length: ") {
                length = rest.split("\r\n").next().unwrap().parse().unwrap();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            head + &String::from_utf8(body).unwrap()
        });
        let found = ask(&Engine { socket: folder.clone() });
        std::fs::remove_file(&folder).unwrap();
        (found, other.join().unwrap())
    }

    #[test]
    fn a_value_is_sent_and_one_comes_back() {
        let (found, asked) =
            exchanged("HTTP/1.0 201 Created\r\nX: y\r\n\r\n{\"Id\":\"7\"}", |to| {
                to.post("/containers/create", &serde_json::json!({"Image": "a"})).map(Some)
            });
        assert_eq!(found.unwrap().unwrap()["Id"], "7");
        assert!(asked.starts_with("POST /containers/create HTTP/1.0\r\n"));
        assert!(asked.ends_with("Content-Length: 13\r\n\r\n{\"Image\":\"a\"}"));
    }

    #[test]
    fn what_is_not_there_is_none() {
        let missing = "HTTP/1.0 404 Not Found\r\n\r\n{\"message\":\"no such image\"}";
        assert_eq!(exchanged(missing, |to| to.find("/images/x/json")).0.unwrap(), None);
    }

    #[test]
    fn an_error_is_said_with_its_first_line() {
        let refused = "HTTP/1.0 500 Internal\r\n\r\n{\"message\":\"no room\\nmore\"}";
        let failure = exchanged(refused, |to| to.get("/info").map(Some)).0.unwrap_err();
        assert_eq!(failure.why, "no room");
        // A long answer has begun well before it fails.
        let late = "HTTP/1.0 200 OK\r\n\r\n{\"status\":\"a\"}\n{\"error\":\"bad tar\"}\n";
        let failure = exchanged(late, |to| to.get("/images").map(Some)).0.unwrap_err();
        assert_eq!(failure.why, "bad tar");
    }

    #[test]
    fn an_answer_that_is_not_http_is_a_failure() {
        for answer in ["", "\n", "SSH-2.0\r\n\r\n", "HTTP/1.0 abc\r\n\r\n"] {
            assert!(exchanged(answer, |to| to.get("/info").map(Some)).0.is_err(), "{answer}");
        }
    }

    #[test]
    fn a_query_has_no_characters_with_a_meaning() {
        assert_eq!(quoted("{\"a b\":[1]}&"), "%7B%22a%20b%22%3A%5B1%5D%7D%26");
    }
}
