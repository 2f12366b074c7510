//! Helpers of the agent's tests: its processes, its frames, plans, and checks for leftovers.
#![allow(dead_code, reason = "every test binary uses a part of it")]

pub(crate) mod links;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use delaylab_proto::{Frame, Kind, STDIN_WINDOW, Window, read_frame, write_frame};
use serde_json::{Value, json};

pub(crate) const AGENT: &str = env!("CARGO_BIN_EXE_delaylab-agent");
/// The longest wait for what is sure to come. It only ends a test that hangs: others use the machine, too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// The ordinary user.
pub(crate) const NOBODY: u32 = 65534;

/// Return a directory below the system's temporary one that no other test uses and that does not exist yet.
pub(crate) fn fresh_dir() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("delaylab-test-{}-{count}", std::process::id()))
}

/// A client of the protocol.
pub(crate) struct Client<S> {
    pub stream: S,
}

/// All frames that came for one request.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub events: Vec<Value>,
    pub output: BTreeMap<u8, Vec<u8>>,
    pub tables: Vec<Vec<u8>>,
    /// The final reply: `{"done": …}` or `{"error": …}`.
    pub end: Value,
}

impl Answer {
    pub(crate) fn stdout(&self) -> String {
        let bytes = self.output.get(&(Kind::Stdout as u8)).cloned().unwrap_or_default();
        String::from_utf8(bytes).unwrap()
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn send(&mut self, request: &Value) {
        let frame = Frame::new(Kind::Message, serde_json::to_vec(request).unwrap());
        write_frame(&mut self.stream, &frame).unwrap();
    }

    pub(crate) fn stdin(&mut self, bytes: &[u8]) {
        write_frame(&mut self.stream, &Frame::new(Kind::Stdin, bytes)).unwrap();
    }

    /// Send input as fast as a command takes it; block while the window is full.
    pub(crate) fn stdin_in_turn(&mut self, mut bytes: &[u8]) {
        let mut window = Window::new(STDIN_WINDOW);
        while !bytes.is_empty() {
            while window.room() == 0 {
                window.used(self.event()["used"].as_u64().unwrap_or(0));
            }
            let (now, later) = bytes.split_at(window.room().min(bytes.len()).min(16 << 10));
            self.stdin(now);
            window.sent(now.len());
            bytes = later;
        }
    }

    pub(crate) fn frame(&mut self) -> Option<Frame> {
        read_frame(&mut self.stream).unwrap()
    }

    pub(crate) fn event(&mut self) -> Value {
        let frame = self.frame().expect("the stream is open");
        assert_eq!(frame.kind, Kind::Message);
        let message: Value = serde_json::from_slice(&frame.payload).unwrap();
        message.get("event").unwrap_or_else(|| panic!("{message}")).clone()
    }

    pub(crate) fn finish(&mut self) -> Answer {
        let mut answer = Answer::default();
        loop {
            let frame = self.frame().expect("an answer ends before its stream does");
            match frame.kind {
                Kind::Message => {
                    let message: Value = serde_json::from_slice(&frame.payload).unwrap();
                    match message.get("event") {
                        Some(event) => answer.events.push(event.clone()),
                        None => {
                            answer.end = message;
                            return answer;
                        }
                    }
                }
                Kind::Table => answer.tables.push(frame.payload),
                kind => answer.output.entry(kind as u8).or_default().extend(frame.payload),
            }
        }
    }

    pub(crate) fn call(&mut self, request: &Value) -> Answer {
        self.send(request);
        self.finish()
    }
}

/// Connect to an agent of a lab.
pub(crate) fn connect(socket: &str) -> Client<UnixStream> {
    Client { stream: UnixStream::connect(socket).unwrap() }
}

/// A client of an agent of another user's lab, which serves that user only: by a process of theirs.
pub(crate) fn connect_as(user: u32, agent: &Path, socket: &str) -> Client<UnixStream> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output = OwnedFd::from(theirs.try_clone().unwrap());
    let mut join = Command::new(agent);
    join.arg("join").arg(socket).uid(user).gid(user);
    let mut joined = join.stdin(OwnedFd::from(theirs)).stdout(output).spawn().unwrap();
    // It ends with the client's stream.
    std::thread::spawn(move || joined.wait());
    Client { stream: ours }
}

pub(crate) fn exec(argv: &[&str]) -> Value {
    json!({"op": "exec", "argv": argv})
}

/// An agent process controlled over its standard streams.
pub(crate) struct Process {
    pub child: Child,
    pub client: Client<Stdio2>,
}

/// The standard streams of a child as one stream.
pub(crate) struct Stdio2 {
    input: Option<std::process::ChildStdin>,
    output: std::process::ChildStdout,
}

impl Read for Stdio2 {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.output.read(buffer)
    }
}

impl Write for Stdio2 {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.input.as_mut().expect("open").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Process {
    pub(crate) fn start(verb: &str) -> Self {
        Self::spawn(Command::new(AGENT).arg(verb))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let input = child.stdin.take();
        let output = child.stdout.take().unwrap();
        Self { child, client: Client { stream: Stdio2 { input, output } } }
    }

    /// Close its standard input.
    pub(crate) fn close(&mut self) {
        self.client.stream.input = None;
    }

    /// Close its standard input, wait for its end, and return the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.close();
        self.child.wait().unwrap().code()
    }
}

pub(crate) fn build(lab: &str, dir: &Path, plan: &Value) -> Value {
    json!({"op": "build", "lab": own(lab), "dir": dir, "plan": plan})
}

/// Assert that a plan is refused and that nothing of its lab is left. Return the failure.
pub(crate) fn refused(lab: &str, plan: &Value) -> Value {
    let dir = fresh_dir();
    let mut fabric = Process::start("fabric");
    let end = fabric.client.call(&build(lab, &dir, plan)).end;
    assert_eq!(fabric.end(), Some(1), "{end}");
    assert_gone(lab, &dir);
    end["error"].clone()
}

/// A folder in which an ordinary user may work, and their copy of the agent in it.
pub(crate) struct Home {
    pub dir: PathBuf,
    pub agent: PathBuf,
}

impl Home {
    pub(crate) fn make() -> Self {
        let dir = fresh_dir();
        fs::create_dir(&dir).unwrap();
        // Like /tmp: everybody may create entries, and nobody may remove those of others.
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o1777)).unwrap();
        let agent = dir.join("agent");
        // By a process of its own: a child that another test forks while this process writes the copy would hold
        // it open for writing, and the kernel starts no such file (ETXTBSY, execve(2)).
        let copied = Command::new("cp").arg(AGENT).arg(&agent).status().unwrap();
        assert!(copied.success());
        Self { dir, agent }
    }

    /// Start a keeper of the user.
    pub(crate) fn fabric(&self) -> Process {
        Process::spawn(Command::new(&self.agent).arg("fabric").uid(NOBODY).gid(NOBODY))
    }

    /// Build the request for a lab of the user.
    pub(crate) fn build(&self, lab: &str, plan: &Value) -> Value {
        let mut request = build(lab, &self.dir.join("lab"), plan);
        request["rootless"] = true.into();
        request
    }

    pub(crate) fn remove(self) {
        fs::remove_dir_all(self.dir).unwrap();
    }
}

/// Build the operations that make a node's end of a veth to a port of `host.h`, with its addresses.
pub(crate) fn cable(node: usize, mtu: u32) -> Vec<Value> {
    let name = format!("node.n{node}");
    let ends = json!([{"in": "host.h", "name": format!("vif-n{node}")},
        {"in": name, "name": "eth0", "mac": mac(node), "mtu": mtu}]);
    let address = |address| json!({"do": "address", "in": name, "on": "eth0", "address": address});
    vec![
        json!({"do": "veth", "ends": ends}),
        address(format!("10.9.0.{node}/24")),
        address(format!("fd09::{node}/64")),
    ]
}

pub(crate) fn mac(number: usize) -> String {
    format!("02:00:00:00:00:{number:02x}")
}

/// Build a plan of nodes `n1`… on a bridge in the namespace of `host.h`.
pub(crate) fn star(nodes: usize, isolate: &[&str], cgroup: bool) -> Value {
    let mut agents = vec![json!({"name": "host.h", "network": "new", "cgroup": cgroup})];
    let mut operations = Vec::new();
    let mut ports = Vec::new();
    for node in 1..=nodes {
        agents.push(json!({"name": format!("node.n{node}"), "network": "new", "isolate": isolate,
            "hostname": format!("n{node}"), "cgroup": cgroup,
            "sysctls": {"net.ipv4.ip_forward": "1", "-net.none.such": "1"}}));
        operations.extend(cable(node, 1400));
        ports.push(format!("vif-n{node}"));
    }
    operations.push(json!({"do": "bridge", "in": "host.h", "name": "lan", "ports": ports}));
    json!({"agents": agents, "operations": operations})
}

/// Return the processes whose title names a lab, by the lab's name or by a socket's directory.
pub(crate) fn processes_of(lab: &str) -> Vec<String> {
    let title = format!("delaylab-agent lab {}", own(lab));
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let bytes = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    });
    all.filter(|found| *found == title).collect()
}

/// Return a lab's name in this run of the tests, so that two runs at once do not mix up their labs.
pub(crate) fn own(lab: &str) -> String {
    format!("{lab}-{}", std::process::id())
}

/// Return the control groups of a lab.
pub(crate) fn cgroups_of(lab: &str) -> Vec<PathBuf> {
    let prefix = format!("{}.", own(lab));
    let roots = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    roots
        .filter_map(|root| fs::read_dir(root.path().join("delaylab")).ok())
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

/// Return the interfaces in the test's network namespace that carry the lab's mark.
pub(crate) fn interfaces_of(lab: &str) -> Vec<PathBuf> {
    let marked = |path: &PathBuf| {
        fs::read_to_string(path.join("ifalias"))
            .is_ok_and(|alias| alias.trim() == format!("delaylab:{}", own(lab)))
    };
    let all = fs::read_dir("/sys/class/net").unwrap().flatten().map(|entry| entry.path());
    all.filter(marked).collect()
}

/// Return the total steal time of this machine's CPUs in ms: whoever waits for one of them waits at most so
/// long.
pub(crate) fn stolen_ms() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let all = stat.lines().next().unwrap().split_whitespace();
    // The values are in hundredths of a second (proc_stat(5)).
    all.skip(1).nth(7).map_or(0.0, |stolen| stolen.parse::<f64>().unwrap() * 10.0)
}

/// Assert that nothing of the lab is left.
pub(crate) fn assert_gone(lab: &str, dir: &Path) {
    assert_eq!(processes_of(lab), Vec::<String>::new());
    assert_eq!(cgroups_of(lab), Vec::<PathBuf>::new());
    assert_eq!(interfaces_of(lab), Vec::<PathBuf>::new());
    assert!(!dir.exists(), "{} is left", dir.display());
}
