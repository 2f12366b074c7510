//! `containers`: starts a lab's Docker containers on the machine that carries them.
//!
//! The engine may be the machine's own, whose containers are not processes of the lab. They still end with it: the
//! agent in each container ends when the connection to its monitor does.

mod engine;
mod http;
mod image;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use delaylab_proto::{Context, Failure};
use nix::libc;
use serde::Deserialize;
use serde_json::{Value, json};

use http::{Engine, quoted};
use image::image;

const LABEL: &str = "org.delaylab.lab";
const INSIDE: &str = "/run/delaylab";
const AGENT: &str = "/sbin/delaylab-agent";
const AT_ONCE: usize = 8;
/// The socket on which a container's monitor waits, in the guest's folder.
const LEASH: &str = "leash/leash.sock";
const LEASH_DEADLINE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Containers to start, and where their files are.
#[derive(Args)]
pub(crate) struct Containers {
    /// The folder for an engine of the lab's own.
    #[arg(long)]
    folder: PathBuf,
    /// The control group of this process; the containers' are beside it.
    #[arg(long)]
    cgroup: PathBuf,
    /// The agent's file, which runs in the containers.
    #[arg(long)]
    agent: PathBuf,
    /// The script that starts an engine of the lab's own.
    #[arg(long)]
    script: PathBuf,
    /// The containers, each as JSON.
    containers: Vec<String>,
}

/// A container, as `delaylab/kinds/docker.py` describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Container {
    name: String,
    agent: String,
    image: String,
    capabilities: Vec<String>,
    cpus: Option<Vec<u32>>,
    memory_bytes: Option<u64>,
    cpu_weight: Option<f64>,
    cpu_quota_us: Option<u64>,
}

/// Start the containers, and tell their monitors if they end; keep running.
pub(crate) fn run(given: &Containers) -> Result<(), Failure> {
    let nodes: Vec<Container> = given
        .containers
        .iter()
        .map(|text| serde_json::from_str(text).context("read a container's description"))
        .collect::<Result<_, _>>()?;
    let engine = match engine::running()? {
        Some(engine) => engine,
        None => {
            let shares = |it: &Container| it.cpu_weight.is_some() || it.cpu_quota_us.is_some();
            engine::start(&given.folder, &given.script, !nodes.iter().any(shares))?
        }
    };
    sweep(&engine)?;
    let names: BTreeSet<_> = nodes.iter().map(|node| node.image.as_str()).collect();
    let images: BTreeMap<_, _> = names
        .into_iter()
        .map(|name| Ok((name, image(&engine, name)?)))
        .collect::<Result<_, Failure>>()?;
    // An engine that uses systemd's cgroup driver puts containers into slices of its own.
    let own_groups = engine.get("/info")?["CgroupDriver"] == "cgroupfs";
    let cgroup = own_groups.then_some(given.cgroup.as_path());
    let filters = json!({"event": ["die"], "label": [LABEL]}).to_string();
    let ends = engine.lines(&format!("/events?filters={}", quoted(&filters)))?;

    let started = Mutex::new(BTreeMap::new());
    each_at_once(&nodes, |node| {
        let monitor = leash(&guest_folder(given, node))?;
        let id = start(&engine, node, &images[node.image.as_str()], cgroup, given)?;
        started.lock().unwrap_or_else(|lock| lock.into_inner()).insert(id, monitor);
        Ok(())
    })?;
    let monitors = started.into_inner().unwrap_or_else(|lock| lock.into_inner());
    report_ends(ends, &monitors);
    loop {
        thread::park();
    }
}

/// Call a function for each node, for some at once; return the first failure, after which no other is begun.
fn each_at_once(
    nodes: &[Container],
    call: impl Fn(&Container) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let rest = Mutex::new(nodes.iter());
    let next = || rest.lock().unwrap_or_else(|lock| lock.into_inner()).next();
    let work = || {
        while let Some(node) = next() {
            call(node).inspect_err(|_| while next().is_some() {})?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE.min(nodes.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(Failure::new("start a container", "panicked")))
        })
    })
}

fn guest_folder(given: &Containers, node: &Container) -> PathBuf {
    lab(given).join(format!("{}.guest", node.agent))
}

fn lab(given: &Containers) -> &Path {
    given.folder.parent().unwrap_or(&given.folder)
}

/// Start a container; return its id.
fn start(
    engine: &Engine,
    node: &Container,
    image: &str,
    cgroup: Option<&Path>,
    given: &Containers,
) -> Result<String, Failure> {
    let made = engine.post("/containers/create", &described(node, image, cgroup, given))?;
    let id = made["Id"].as_str().unwrap_or_default().to_owned();
    if let Err(failure) = engine.post(&format!("/containers/{id}/start"), &Value::Null) {
        // The failure to start it is what counts.
        let _ = engine.delete(&format!("/containers/{id}?force=1"));
        return Err(failure);
    }
    Ok(id)
}

/// Return the description of a container for the engine.
fn described(node: &Container, image: &str, cgroup: Option<&Path>, given: &Containers) -> Value {
    let lab = lab(given);
    let mount = |source: &Path, target: &str| json!({"Type": "bind", "Source": source, "Target": target, "ReadOnly": true});
    let capabilities: Vec<_> = node.capabilities.iter().map(|it| it.to_uppercase()).collect();
    let mut host = json!({
        "NetworkMode": "none",
        "Mounts": [
            mount(&guest_folder(given, node).join("leash"), INSIDE),
            mount(&given.agent, AGENT),
            mount(&lab.join("hosts"), "/etc/hosts"),
        ],
        "CapDrop": ["ALL"],
        "CapAdd": capabilities,
        // Root in the container can write to the agent's output, which the engine keeps on this machine.
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}},
        "AutoRemove": true,
    });
    let limits = [
        (
            "CpusetCpus",
            node.cpus
                .as_ref()
                .map(|cpus| json!(cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","))),
        ),
        ("Memory", node.memory_bytes.map(Value::from)),
        ("CpuShares", node.cpu_weight.map(|weight| json!(cpu_shares(weight)))),
        // With a group of its own, the container's is below it, and has its quota.
        ("CpuQuota", node.cpu_quota_us.filter(|_| cgroup.is_none()).map(Value::from)),
        (
            "CgroupParent",
            cgroup.map(|own| {
                json!(Path::new("/").join(own.parent().unwrap_or(own)).join(&node.agent))
            }),
        ),
    ];
    for (name, limit) in limits {
        if let Some(limit) = limit {
            host[name] = limit;
        }
    }
    json!({
        "Image": image,
        // In place of the image's own: its ENTRYPOINT would take the agent for an argument, its USER lacks the rights,
        // and its HEALTHCHECK would run programs during measurements.
        "Entrypoint": [AGENT, "init", "--folder", INSIDE],
        "Cmd": ["--capabilities", node.capabilities.join(",")],
        "User": "0",
        "Healthcheck": {"Test": ["NONE"]},
        "Hostname": node.name,
        "Labels": {LABEL: lab},
        "HostConfig": host,
    })
}

/// Return a weight of control groups' version 2 (usually 100) as shares of version 1 (usually 1024).
fn cpu_shares(weight: f64) -> u64 {
    ((weight * 1024.0 / 100.0).round() as u64).max(2)
}

/// Return the socket in a guest's folder, once its monitor listens. It leads there whatever the container does with
/// its name.
fn leash(guest: &Path) -> Result<File, Failure> {
    let deadline = Instant::now() + LEASH_DEADLINE;
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    loop {
        match OpenOptions::new().read(true).custom_flags(flags).open(guest.join(LEASH)) {
            // It is there in milliseconds; no wait for a name is worth its code.
            Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < deadline => {
                thread::sleep(LOOK);
            }
            opened => {
                return opened.with_context(|| format!("find the monitor of {}", guest.display()));
            }
        }
    }
}

/// Tell the monitor of each container that ends, until the engine does.
fn report_ends(ends: impl Iterator<Item = io::Result<String>>, monitors: &BTreeMap<String, File>) {
    for line in ends.map_while(Result::ok) {
        let Ok(end) = serde_json::from_str::<Value>(&line) else { continue };
        let actor = &end["Actor"];
        if let Some(monitor) = actor["ID"].as_str().and_then(|id| monitors.get(id)) {
            let code = actor["Attributes"]["exitCode"].as_str().unwrap_or("unknown");
            // One that has its agent no longer listens.
            let _ = tell(monitor, &format!("exit code {code}"));
        }
    }
}

fn tell(monitor: &File, why: &str) -> io::Result<()> {
    let mut stream = UnixStream::connect(format!("/proc/self/fd/{}", monitor.as_raw_fd()))?;
    // A byte without a descriptor, where the agent would send one with it.
    stream.write_all(&[&[0], why.as_bytes()].concat())
}

/// Remove containers that a killed lab created but never started; started ones have ended.
fn sweep(engine: &Engine) -> Result<(), Failure> {
    let filters = json!({"label": [LABEL], "status": ["created"]}).to_string();
    let made = engine.get(&format!("/containers/json?all=1&filters={}", quoted(&filters)))?;
    for container in made.as_array().into_iter().flatten() {
        let (id, lab) = (&container["Id"], &container["Labels"][LABEL]);
        if let (Some(id), Some(lab)) = (id.as_str(), lab.as_str())
            && !Path::new(lab).exists()
        {
            // Another lab that starts now may have removed it.
            let _ = engine.delete(&format!("/containers/{id}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn temporary(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("containers-{}-{name}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        folder
    }

    fn given() -> Containers {
        Containers {
            folder: "/run/delaylab/lab/engine.docker.m1".into(),
            cgroup: "delaylab/lab/engine.docker.m1".into(),
            agent: "/stored/agent-1/program".into(),
            script: "/stored/own-1/file".into(),
            containers: vec![],
        }
    }

    fn node(more: &str) -> Container {
        let text = format!(
            r#"{{"name": "box", "agent": "node.box", "image": "i", "capabilities": ["cap_net_raw"],
                "cpus": null, "memory_bytes": null, "cpu_weight": null, "cpu_quota_us": null {more}}}"#
        );
        // The last of two fields counts in Python, so a test replaces one.
        serde_json::from_value(serde_json::from_str(&text).unwrap()).unwrap()
    }

    #[test]
    fn a_container_has_the_labs_files_and_no_network_of_the_engine() {
        let found = described(&node(""), "i", None, &given());
        let host = &found["HostConfig"];
        assert_eq!(host["NetworkMode"], "none");
        assert_eq!(host["Mounts"][0]["Source"], "/run/delaylab/lab/node.box.guest/leash");
        assert_eq!(host["Mounts"][2]["Source"], "/run/delaylab/lab/hosts");
        assert_eq!(host["CapAdd"], json!(["CAP_NET_RAW"]));
        assert_eq!(host["LogConfig"]["Config"]["max-size"], "1m");
        assert_eq!(found["Labels"][LABEL], "/run/delaylab/lab");
        for limit in ["CpusetCpus", "Memory", "CpuShares", "CpuQuota", "CgroupParent"] {
            assert!(host.get(limit).is_none(), "{limit}");
        }
    }

    #[test]
    fn its_limits_are_the_nodes() {
        let limits =
            r#", "cpus": [0, 2], "memory_bytes": 7, "cpu_weight": 50, "cpu_quota_us": 2000"#;
        let bare = &described(&node(limits), "i", None, &given())["HostConfig"];
        assert_eq!(bare["CpusetCpus"], "0,2");
        assert_eq!(bare["Memory"], 7);
        assert_eq!(bare["CpuShares"], 512);
        assert_eq!(bare["CpuQuota"], 2000);
        let given = given();
        let grouped = &described(&node(limits), "i", Some(&given.cgroup), &given)["HostConfig"];
        assert_eq!(grouped["CgroupParent"], "/delaylab/lab/node.box");
        assert!(grouped.get("CpuQuota").is_none());
    }

    #[test]
    fn a_monitor_is_told_of_the_end_by_the_socket_it_listens_on() {
        let folder = temporary("leash");
        let socket = folder.join(LEASH);
        fs::create_dir(socket.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let another = UnixListener::bind(folder.join("another")).unwrap();
        another.set_nonblocking(true).unwrap();
        let monitor = leash(&folder).unwrap();
        // A container replaces the socket by a link.
        fs::rename(&socket, folder.join("moved")).unwrap();
        symlink(folder.join("another"), &socket).unwrap();
        tell(&monitor, "exit code 7").unwrap();
        let mut said = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut said).unwrap();
        assert_eq!(said, b"\0exit code 7");
        assert!(another.accept().is_err());
        drop(listener);
        assert!(tell(&monitor, "nobody listens any more").is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
