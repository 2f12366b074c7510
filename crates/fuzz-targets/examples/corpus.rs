//! Write seeds for libFuzzer: `cargo run --package delaylab-fuzz-targets --example corpus -- FOLDER`.

use std::path::PathBuf;

use delaylab_fuzz_targets::TARGETS;
use delaylab_fuzz_targets::mutate::Random;

const SEEDS: u64 = 300;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder"));
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for number in 0..SEEDS {
            let seed = (target.seed)(&mut Random::new(number));
            std::fs::write(folder.join(format!("seed-{number}")), seed.bytes)?;
        }
    }
    Ok(())
}
