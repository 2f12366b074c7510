#!/usr/bin/env bash
# Sets up all that delaylab needs, once: system packages, .venv, the agent. Run again, it does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 3; }

# program:package
system_tools=(cc:gcc python3:python3 ping:iputils-ping ip:iproute2 stress-ng:stress-ng iperf3:iperf3)
rust_wanted=1.95

missing_packages() {
  local entry
  for entry in "${system_tools[@]}"; do
    command -v "${entry%%:*}" >/dev/null 2>&1 || [ -x "/usr/sbin/${entry%%:*}" ] || echo "${entry##*:}"
  done
  python3 -c 'import venv, ensurepip' 2>/dev/null || echo python3-venv
  [ -e /usr/include/stdio.h ] || echo libc6-dev
}

install_packages() {
  local packages=("$@")
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing system packages: ${packages[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
  else
    fail "these packages are missing: ${packages[*]}. As root: apt-get install ${packages[*]}"
  fi
}

check_rust() {
  [ -n "${HOME:-}" ] && PATH="$HOME/.cargo/bin:$PATH"
  command -v cargo >/dev/null 2>&1 ||
    fail "there is no Rust toolchain. Install rustup (see rustup.rs), then: rustup toolchain install $rust_wanted"
  local have
  have=$(rustc --version | cut -d' ' -f2)
  [ "$(printf '%s\n%s\n' "$rust_wanted" "$have" | sort -V | head -n1)" = "$rust_wanted" ] ||
    fail "rustc $have is too old. Run: rustup toolchain install $rust_wanted && rustup default $rust_wanted"
}

check_python() {
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$(python3 --version) is too old: delaylab needs Python 3.11 or newer"
}

setup_python() {
  local stamp=.venv/.requirements
  cmp -s requirements.txt "$stamp" 2>/dev/null && return
  say "Python packages into .venv"
  python3 -m venv .venv
  .venv/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
  .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
  cp requirements.txt "$stamp"
}

setup_agent() {
  local target
  target="target/$(uname -m)-unknown-linux-gnu/release/delaylab-agent"
  if [ -x .venv/bin/delaylab-agent ] && [ -z "$(find crates Cargo.lock Cargo.toml -newer .venv/bin/delaylab-agent -type f -print -quit)" ]; then
    return
  fi
  say "the agent, in release mode (a minute or two the first time)"
  cargo build --release --locked --package delaylab-agent
  install "$target" .venv/bin/delaylab-agent
}

mapfile -t packages < <(missing_packages)
[ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"
check_python
check_rust
setup_python
setup_agent
