//! `notify`: netlink notifications to programs that ignore those about routes.
//!
//! For each change of a route the kernel looks at every socket that is in some group of routing netlink, in all network
//! namespaces (`netlink_broadcast`). While hundreds of routers find their routes, that is most of the work of a change.
//! Therefore the sockets of such programs may be in no group until `notify`.

use std::fs;
use std::io;
use std::path::PathBuf;

use delaylab_os::process::PidFd;
use delaylab_os::process::sockets::{self, Groups};
use delaylab_proto::{Context, Failure};
use serde::{Deserialize, Serialize};

use super::programs_folder::ProgramsFolder;
use crate::protocol::programs::Nothing;
use crate::protocol::starting::{Notify, Program};
use crate::session::Session;

/// The groups that the sockets of a process have left, until they join them again.
#[derive(Serialize, Deserialize)]
struct Left {
    pid: i32,
    /// The number of each descriptor, with its groups.
    sockets: Vec<(i32, Vec<u32>)>,
}

/// Stop notifications about routes to a program; with `later`, all notifications until `notify`.
///
/// Without the right to trace the program it still gets all. Only time is lost then: it ignores those about routes.
pub(super) fn stop(
    kept: &ProgramsFolder,
    program: &Program,
    handle: &PidFd,
    later: bool,
) -> io::Result<()> {
    let left: Vec<Groups> =
        sockets::leave_groups(handle)?.into_iter().map(Groups::without_routes).collect();
    // What is not noted would never be joined again.
    if later && note(kept, program, handle.pid(), &left).is_ok() {
        return Ok(());
    }
    left.iter().try_for_each(|groups| sockets::join_groups(handle, groups))
}

/// Note what a program has left, for `notify`.
fn note(kept: &ProgramsFolder, program: &Program, pid: i32, left: &[Groups]) -> io::Result<()> {
    let sockets = left.iter().map(|each| (each.descriptor, each.groups.clone())).collect();
    fs::write(file_of(kept, &program.name), serde_json::to_vec(&Left { pid, sockets })?)
}

/// Have the programs of a node join the groups again that they left. One that has ended meanwhile is left out.
pub(crate) fn notify(request: Notify, _: &mut Session) -> Result<Nothing, Failure> {
    let kept = ProgramsFolder::in_folder(request.folder);
    for program in kept.remembered()? {
        let file = file_of(&kept, &program.name);
        let Ok(text) = fs::read(&file) else { continue };
        let what = || format!("resume notifications to {}", program.name);
        let left: Left = serde_json::from_slice(&text).with_context(what)?;
        if kept.state(&program.name)?.pid == left.pid
            && let Ok(handle) = PidFd::open(left.pid)
        {
            for (descriptor, groups) in left.sockets {
                sockets::join_groups(&handle, &Groups { descriptor, groups }).with_context(what)?;
            }
        }
        fs::remove_file(file).with_context(what)?;
    }
    Ok(Nothing {})
}

fn file_of(kept: &ProgramsFolder, name: &str) -> PathBuf {
    kept.file(&format!("{name}.groups"))
}
