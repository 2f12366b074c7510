#!/bin/sh
# Build the agent and the library that records programs in release mode, in the checkout that holds this file. Messages
# of panics name source files: not by the builder's own folders, which a wheel would publish.
set -e
cd "$(dirname "$0")/.."
home="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
here="--remap-path-prefix=$PWD=delaylab"
cargo build --release --locked --package delaylab-agent --config "build.rustflags = ['$home', '$here']"
# A library to preload cannot be static as the agent is; these flags take the place of those in .cargo/config.toml.
# Containers need not have libgcc_s, which the compiler links by name: a script of that name leads to the static one.
static=target/library/static
mkdir -p "$static"
echo 'INPUT(-lgcc_eh)' > "$static/libgcc_s.so"
flags="$(printf '%s\037%s\037-Ctarget-feature=-crt-static\037-Lnative=%s' "$home" "$here" "$PWD/$static")"
CARGO_ENCODED_RUSTFLAGS="$flags" cargo rustc --release --locked \
  --package delaylab-replay --crate-type cdylib --target-dir target/library
