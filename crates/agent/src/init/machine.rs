//! The first process of a virtual machine. All sessions share one stream to its monitor.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use delaylab_os::files::{descriptor, folder, mount, terminal};
use delaylab_os::{kernel, process};
use delaylab_proto::{Context, Failure, Frame, Kind, Reply};
use serde::Deserialize;

use crate::protocol::running::Event;
use crate::session::line::Line;
use crate::session::mux::{self, Mux};
use crate::session::{Serve, listen};

const VIRTIO: &str = "virtio:";
/// The prefix of a hypervisor's console, whose input is escaped.
const CONSOLE: &str = "/dev/hvc";
/// The prefix of a serial line. User-Mode Linux's hangs for good once its buffer of 4096 bytes has been full
/// (drivers/tty/n_tty.c; arch/um/drivers/line.c never resumes after it throttles).
const SERIAL: &str = "/dev/ttyS";
const SERIAL_WINDOW: u64 = 2048;
/// The steps before any session is served, in this order.
pub(super) struct Start<'a> {
    /// The kernel modules to load.
    pub modules: &'a [String],
    /// The disk whose file system becomes the root.
    pub root: Option<&'a Path>,
    /// The disk that is mounted at `/var/tmp`.
    pub scratch: Option<&'a Path>,
    /// The program to run to its end.
    pub before: Option<&'a Path>,
}

/// Serve sessions until the stream ends, then switch the machine off.
pub(super) fn live(stream: &str, start: &Start, serve: Serve) -> Result<(), Failure> {
    let served = run(stream, start, serve);
    if let Err(failure) = &served {
        // Write to the console, where a user looks when a machine does not answer.
        eprintln!("delaylab-agent: {failure}");
    }
    kernel::power_off().context("switch the machine off")?;
    served
}

fn run(stream: &str, start: &Start, serve: Serve) -> Result<(), Failure> {
    prepare()?;
    load(start.modules)?;
    start.root.map_or(Ok(()), enter)?;
    start.scratch.map_or(Ok(()), mount_scratch)?;
    start.before.map_or(Ok(()), run_program)?;
    process::reap_by_kernel().context("prepare the process")?;
    let what = || format!("open {stream}");
    let device = match stream.strip_prefix(VIRTIO) {
        Some(name) => folder::wait_in(Path::new("/dev"), || port(name)).with_context(what)?,
        None => PathBuf::from(stream),
    };
    let is_console = stream.starts_with(CONSOLE);
    let line = File::options().read(true).write(true).open(device).with_context(what)?;
    terminal::make_raw(&line).with_context(what)?;
    let line = Line::of(OwnedFd::from(line)).with_context(what)?;
    let mut mux = Mux::on(if is_console { line.unescaping() } else { line });
    let is_serial = stream.starts_with(SERIAL);
    let window = is_serial.then_some(SERIAL_WINDOW);
    let ready = serde_json::to_vec(&Reply::<_, ()>::Event(Event::Machine { ready: true, window }));
    let ready = ready.context("say that the machine is ready")?;
    mux.send(&Frame::new(Kind::Message, ready))?;
    loop {
        let turn = mux.turn(&[], None)?;
        if is_serial && turn.read > 0 {
            mux.send(&mux::tell_read(turn.read))?;
        }
        for frame in turn.new {
            // Several frames may have come at once for one new session.
            let known = mux.has(frame.channel);
            if frame.kind == Kind::Close && !known {
                // The monitor waits for it before it uses the channel again.
                mux.send(&mux::closing_of(frame.channel))?;
                continue;
            }
            if !known {
                begin(&mut mux, frame.channel, serve)?;
            }
            mux.deliver(&frame)?;
        }
        if turn.ended {
            return Ok(());
        }
    }
}

/// Start a session on a channel. Report a failure to start it on that channel.
fn begin(mux: &mut Mux, channel: u16, serve: Serve) -> Result<(), Failure> {
    let joined = descriptor::stream_pair().and_then(|(ours, theirs)| {
        mux.join(channel, ours)?;
        Ok(theirs)
    });
    match joined {
        Ok(theirs) => drop(listen::start(theirs, None, serve)),
        Err(error) => mux.refuse(channel, &listen::cannot_start(&error))?,
    }
    Ok(())
}

/// Run a program to its end; its output goes to the console.
fn run_program(program: &Path) -> Result<(), Failure> {
    let what = || format!("run {}", program.display());
    let status = Command::new(program).status().with_context(what)?;
    if status.success() { Ok(()) } else { Err(Failure::new(what(), status)) }
}

/// Find the device of the virtio port with this name. There is no udev to link it by name.
fn port(name: &str) -> Option<PathBuf> {
    fs::read_dir("/sys/class/virtio-ports").ok()?.flatten().find_map(|entry| {
        let found = fs::read_to_string(entry.path().join("name")).ok()?;
        let device = Path::new("/dev").join(entry.file_name());
        (found.trim() == name && device.exists()).then_some(device)
    })
}

const HERE: &str = "/root-of-disk";
const SCRATCH: &str = "/var/tmp";
const KIND: &str = "ext4";
/// A file system that is mounted below another one and moves with it.
const INSIDE_ANOTHER: &str = "/dev/pts";

/// Make the file system of a user's disk, or of its first partition that has one, the root: its programs and files,
/// with the agent as init. Services on the disk are not started. Block until the disk appears.
pub(super) fn enter(disk: &Path) -> Result<(), Failure> {
    let what = || format!("make {} the root", disk.display());
    await_disk(disk).with_context(what)?;
    fs::create_dir_all(HERE).with_context(what)?;
    let mounted =
        candidates(disk).iter().any(|device| mount::disk(device, KIND, Path::new(HERE)).is_ok());
    if !mounted {
        let why = format!("neither it nor a partition of it has a file system of type {KIND}");
        return Err(Failure::new(what(), why));
    }
    for (_, folder) in FILE_SYSTEMS {
        if folder == INSIDE_ANOTHER {
            continue;
        }
        let to = PathBuf::from(format!("{HERE}{folder}"));
        fs::create_dir_all(&to).with_context(what)?;
        mount::relocate(Path::new(folder), &to).with_context(what)?;
    }
    std::env::set_current_dir(HERE).with_context(what)?;
    mount::become_root().with_context(what)?;
    std::env::set_current_dir("/tmp").with_context(what)
}

/// Mount a disk as the folder for temporary files that outlast a boot. Block until the disk appears.
fn mount_scratch(disk: &Path) -> Result<(), Failure> {
    let what = || format!("mount {} at {SCRATCH}", disk.display());
    await_disk(disk).with_context(what)?;
    fs::create_dir_all(SCRATCH).with_context(what)?;
    mount::disk(disk, KIND, Path::new(SCRATCH)).with_context(what)?;
    fs::set_permissions(SCRATCH, fs::Permissions::from_mode(0o1777)).with_context(what)
}

fn await_disk(disk: &Path) -> io::Result<()> {
    folder::wait_in(Path::new("/dev"), || disk.exists().then_some(()))
}

/// Return the disk itself, then its partitions in order.
fn candidates(disk: &Path) -> Vec<PathBuf> {
    let name = disk.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let inside = fs::read_dir(Path::new("/sys/block").join(&name)).into_iter().flatten().flatten();
    let mut partitions: Vec<PathBuf> = inside
        .filter(|entry| entry.path().join("partition").exists())
        .map(|entry| Path::new("/dev").join(entry.file_name()))
        .collect();
    partitions.sort();
    partitions.insert(0, disk.to_path_buf());
    partitions
}

const FOLDER: &str = "/lib/delaylab/modules";
const LIST: &str = "/lib/delaylab/modules.json";

#[derive(Deserialize)]
struct Module {
    /// The module's file; `None` if it is built into the kernel.
    file: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
}

/// Load modules, each after the modules that it needs.
pub(super) fn load(wanted: &[String]) -> Result<(), Failure> {
    if wanted.is_empty() {
        return Ok(());
    }
    let what = || format!("read {LIST}");
    let text = fs::read(LIST).with_context(what)?;
    let known: BTreeMap<String, Module> = serde_json::from_slice(&text).with_context(what)?;
    let mut loaded = BTreeSet::new();
    wanted.iter().try_for_each(|name| load_one(name, &known, &mut loaded))
}

fn load_one<'a>(
    name: &'a str,
    known: &'a BTreeMap<String, Module>,
    loaded: &mut BTreeSet<&'a str>,
) -> Result<(), Failure> {
    if !loaded.insert(name) {
        return Ok(());
    }
    let what = || format!("load kernel module {name}");
    let module = known.get(name).ok_or_else(|| {
        Failure::new(what(), "this kernel's image does not have it")
            .fix("take another `nic`, or another kernel")
    })?;
    for need in &module.needs {
        load_one(need, known, loaded)?;
    }
    let Some(file) = &module.file else { return Ok(()) };
    File::open(Path::new(FOLDER).join(file))
        .and_then(|file| kernel::load_module(&file))
        .with_context(what)
}

/// The kernel's file systems and their folders, in the order of mounting.
const FILE_SYSTEMS: [(&str, &str); 6] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
];

/// The symbolic links that udev creates elsewhere.
const LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Mount file systems, create links and set the environment that every program expects.
pub(super) fn prepare() -> Result<(), Failure> {
    for (kind, folder) in FILE_SYSTEMS {
        let what = || format!("mount {folder}");
        fs::create_dir_all(folder).with_context(what)?;
        mount::kernel_file_system(kind, folder).with_context(what)?;
    }
    for (link, target) in LINKS {
        match symlink(target, link) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.with_context(|| format!("make {link}"))?,
        }
    }
    process::set_environment(&[("PATH", super::SEARCH_PATH), ("HOME", "/"), (VARIABLE, "1")]);
    // Commands start in the current directory of init.
    std::env::set_current_dir("/tmp").context("enter /tmp")
}

/// The environment variable set for all processes that a virtual machine's init starts.
pub(super) const VARIABLE: &str = "DELAYLAB_MACHINE";

/// Return true if this process runs in a virtual machine whose init is the agent.
pub(crate) fn is_alone() -> bool {
    std::env::var_os(VARIABLE).is_some()
}
