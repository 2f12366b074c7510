//! Kernel modules of a virtual machine, as listed in its image.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use delaylab_os::kernel;
use delaylab_proto::{Context, Failure};
use serde::Deserialize;

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
