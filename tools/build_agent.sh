#!/bin/sh
# Build the agent in release mode, in the checkout that holds this file. Messages of panics name source files:
# not by the builder's own folders, which a wheel would publish.
set -e
cd "$(dirname "$0")/.."
flags="'--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo', '--remap-path-prefix=$PWD=delaylab'"
exec cargo build --release --locked --package delaylab-agent --config "build.rustflags = [$flags]"
