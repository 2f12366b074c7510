//! `delaylab-agent kernel`: the parts of this kernel that links can use, as JSON.

use std::io::{self, Write};

use delaylab_proto::{Context, Failure};

use super::try_features::try_features;

/// Print as JSON what the kernel supports: each feature with null, or the reason why it is unavailable.
pub fn print_support() -> Result<(), Failure> {
    let text = serde_json::to_string(&try_features()?).context("say what the kernel can do")?;
    writeln!(io::stdout(), "{text}").context("say what the kernel can do")
}
