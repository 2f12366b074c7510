//! `control`: programs of a node are frozen, continued, killed or started again.

use std::fs;

use delaylab_os::clock::Realtime;
use delaylab_os::process;
use delaylab_proto::{Context, Failure};

use super::launch;
use super::programs_folder::{ProgramsFolder, before};
use super::supervisor::Supervise;
use crate::protocol::starting::{Control, ControlDone, Deed, NodeState, Program, ProgramState};
use crate::session::Session;

/// Do the same to several programs of the node, or to all. Fails for a name that no program has.
pub(crate) fn control(request: Control, session: &mut Session) -> Result<ControlDone, Failure> {
    let kept = ProgramsFolder::in_folder(request.folder);
    let Acted { began_ns, done_ns, programs } =
        act(&kept, request.deed, &request.names, Some(session))?;
    let states = programs.iter().map(|each| kept.state(&each.name));
    Ok(ControlDone { began_ns, done_ns, programs: states.collect::<Result<_, _>>()? })
}

/// The programs that something was done to, in this order, and the times before and after, in ns since the Unix
/// epoch.
pub(super) struct Acted {
    pub(super) began_ns: i64,
    pub(super) done_ns: i64,
    programs: Vec<Program>,
}

/// Do the same to programs of these names, or to the node as a whole.
pub(super) fn act(
    kept: &ProgramsFolder,
    deed: Deed,
    names: &[String],
    mut session: Option<&mut Session>,
) -> Result<Acted, Failure> {
    let programs = chosen(kept, names)?;
    let began_ns = Realtime::now().ns();
    // Daemons depend on those that were started before them: they go first.
    let programs: Vec<_> = match deed {
        Deed::Freeze | Deed::Kill => programs.into_iter().rev().collect(),
        Deed::Continue | Deed::Start => programs,
    };
    for program in &programs {
        match deed {
            Deed::Freeze => signal(kept, program, process::SIGSTOP)?,
            Deed::Continue => signal(kept, program, process::SIGCONT)?,
            Deed::Kill => signal(kept, program, process::SIGKILL)?,
            Deed::Start => start_again(kept, program, session.as_deref_mut())?,
        }
    }
    let done_ns = Realtime::now().ns();
    if names.is_empty() {
        kept.note_node(match deed {
            Deed::Freeze => NodeState::Stopped,
            Deed::Kill => NodeState::Killed,
            Deed::Continue | Deed::Start => NodeState::Running,
        })?;
    }
    if deed == Deed::Kill {
        for program in &programs {
            kept.noted_end(&program.name)?;
        }
    }
    Ok(Acted { began_ns, done_ns, programs })
}

/// Return the programs of these names, or all, in the order of their first start.
fn chosen(kept: &ProgramsFolder, names: &[String]) -> Result<Vec<Program>, Failure> {
    for name in names {
        kept.state(name)?;
    }
    let mut all = kept.remembered()?;
    all.retain(|each| names.is_empty() || names.contains(&each.name));
    Ok(all)
}

/// Send a signal to all processes of a program; one that has ended is left as it is.
fn signal(kept: &ProgramsFolder, program: &Program, signal: i32) -> Result<(), Failure> {
    let what = || format!("control {}", program.name);
    let state = kept.state(&program.name)?;
    if state.ended_ns.is_some() {
        return Ok(());
    }
    process::signal_session(state.pid, signal).with_context(what)?;
    if signal != process::SIGKILL {
        kept.save(&ProgramState { frozen: signal == process::SIGSTOP, ..state })?;
    }
    Ok(())
}

/// Start a program that has ended as it was first started. Its output so far is kept before the new one. Programs that
/// need it, and run, are restarted after it.
pub(super) fn start_again(
    kept: &ProgramsFolder,
    program: &Program,
    mut session: Option<&mut Session>,
) -> Result<(), Failure> {
    if kept.state(&program.name)?.ended_ns.is_none() {
        return Ok(());
    }
    let log = kept.log_file(&program.name);
    // An agent that was killed cannot remove them.
    kept.recording(&program.name).forget();
    if log.exists() {
        fs::rename(&log, before(&log)).with_context(|| format!("keep {}", log.display()))?;
    }
    let order = Supervise { kept: kept.clone(), program: program.clone(), notify_later: false };
    launch(order, session.as_deref_mut())?;
    for other in kept.remembered()? {
        if other.needs.as_ref() == Some(&program.name) && runs(kept, &other)? {
            kill(kept, &other)?;
            start_again(kept, &other, session.as_deref_mut())?;
        }
    }
    Ok(())
}

/// Return true for a program that has not ended and is not frozen.
fn runs(kept: &ProgramsFolder, program: &Program) -> Result<bool, Failure> {
    let state = kept.state(&program.name)?;
    Ok(state.ended_ns.is_none() && !state.frozen)
}

/// Kill a program, and return once it has ended.
pub(super) fn kill(kept: &ProgramsFolder, program: &Program) -> Result<(), Failure> {
    let state = kept.state(&program.name)?;
    if state.ended_ns.is_none() {
        let what = || format!("end {}", program.name);
        process::signal_session(state.pid, process::SIGKILL).with_context(what)?;
        kept.noted_end(&program.name)?;
    }
    Ok(())
}
