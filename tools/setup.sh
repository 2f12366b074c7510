#!/usr/bin/env bash
# Sets up all that delaylab needs, once: system packages, .venv, the agent. Run again, it does nothing.
# With --kinds also what containers and virtual machines need, some 200 MB of packages; with --tests
# what tests compare with, too. With --python only .venv: no system package, no Rust. With --packages
# only the system packages.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 3; }

# program:package
system_tools=(cc:gcc python3:python3 ping:iputils-ping ip:iproute2 stress-ng:stress-ng iperf3:iperf3)
# What node kinds need. Without one of them delaylab works; `delaylab doctor` says what is missing.
kind_tools=(lxc-start:lxc dockerd:docker.io qemu-system-x86_64:qemu-system-x86
  linux.uml:user-mode-linux slirp4netns:slirp4netns)
# Peers that tests compare with, and services that nobody here wrote.
test_tools=(tshark:tshark tcpdump:tcpdump xz:xz-utils sudo:sudo dnsmasq:dnsmasq-base
  openssl:openssl)
# Programs that work of studies runs, and tests with it. Some of their packages start services.
work_tools=(scp:openssh-client sshd:openssh-server mpirun.openmpi:openmpi-bin
  mpicc.openmpi:libopenmpi-dev hpcc:hpcc nuttcp:nuttcp)
# Routing daemons of labs, and those of an example.
routing_tools=(vtysh:frr bird:bird2 gobgpd:gobgpd exabgp:exabgp)
rust_wanted=1.95

# missing PROGRAM:PACKAGE …: the packages of those programs that are not there.
missing() {
  local entry
  for entry in "$@"; do
    command -v "${entry%%:*}" >/dev/null 2>&1 || [ -x "/usr/sbin/${entry%%:*}" ] || echo "${entry##*:}"
  done
}

# The distribution's Python where it will do, else the first on PATH. One that a version manager compiled, without
# profiles, runs a tenth slower, and other users cannot read one in somebody's home. PYTHON names another.
find_python() {
  if [ -z "${PYTHON:-}" ]; then
    PYTHON=/usr/bin/python3
    { has_venv && is_new_enough; } 2>/dev/null || PYTHON=python3
  fi
}

has_venv() { "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; }

is_new_enough() { "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; }

missing_packages() {
  missing "${system_tools[@]}"
  has_venv || echo python3-venv
  [ -e /usr/include/stdio.h ] || echo libc6-dev
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_install() {
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

install_packages() {
  can_install || fail "these packages are missing: $*. As root: apt-get install $*"
  say "installing system packages: $*"
  apt_install "$@"
}

policy=/usr/sbin/policy-rc.d
policy_mark="# delaylab's setup.sh made this"

# write_policy: forbid the start of services (invoke-rc.d(8)) while this process lives. What a killed
# setup leaves allows everything, as if it were not there, and removes itself at its next use.
write_policy() {
  cat >"$policy.new" <<END
#!/bin/sh
$policy_mark
[ "\$(cut -d' ' -f22 /proc/$$/stat 2>/dev/null)" = $(cut -d' ' -f22 /proc/$$/stat) ] && exit 101
rm -f $policy
exit 0
END
  chmod +x "$policy.new"
  mv "$policy.new" "$policy"
}

remove_own_policy() {
  rm -f "$policy.new"
  if grep -qsxF "$policy_mark" "$policy"; then rm -f "$policy"; fi
}

# Packages start their services when they are installed (dockerd, lxc-net's bridge), unless a policy
# forbids it. delaylab starts what it needs for each lab, and stops it again.
install_quietly() {
  can_install || {
    say "some node kinds or works will not run without: $*. As root: apt-get install --no-install-recommends $*"
    return
  }
  say "installing what node kinds or works need, without starting any service: $*"
  remove_own_policy
  if [ -e "$policy" ]; then
    apt_install "$@"
    return
  fi
  trap remove_own_policy EXIT
  write_policy
  apt_install "$@" || say "they could not be installed; delaylab works without them"
  remove_own_policy
  trap - EXIT
  # Nor at the next boot; only services that came just now.
  [ -d /run/systemd/system ] || return 0
  case " $* " in *" docker.io "*) systemctl disable --quiet docker.service docker.socket ;; esac
  case " $* " in *" lxc "*) systemctl disable --quiet lxc.service lxc-net.service ;; esac
  case " $* " in *" openssh-server "*) systemctl disable --quiet ssh.service ssh.socket ;; esac
  case " $* " in *" frr "*) systemctl disable --quiet frr.service ;; esac
  case " $* " in *" bird2 "*) systemctl disable --quiet bird.service ;; esac
  case " $* " in *" gobgpd "*) systemctl disable --quiet gobgpd.service ;; esac
  case " $* " in *" exabgp "*) systemctl disable --quiet exabgp.service ;; esac
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
  is_new_enough || fail "$("$PYTHON" --version) is too old: delaylab needs Python 3.11 or newer"
}

# What an editable install keeps of the time when it was made: commands, entry points, the version.
project() { cat pyproject.toml && grep '^version' Cargo.toml; }

setup_python() {
  local packages=.venv/.requirements installed=.venv/.project
  if ! cmp -s requirements.txt "$packages"; then
    say "Python packages into .venv"
    # A .venv that works keeps its Python: venv would rewrite its configuration, but not exchange the program.
    .venv/bin/pip --version >/dev/null 2>&1 || "$PYTHON" -m venv --clear .venv
    # Wheels only: the tools that build one from source would come without a hash.
    .venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
      --requirement requirements.txt
    # venv brings its Python's own, with known faults, and nothing here uses it; pip is one of the requirements.
    .venv/bin/pip uninstall --quiet --yes setuptools
    rm -f "$installed"
    cp requirements.txt "$packages"
  fi
  if ! project | cmp -s - "$installed"; then
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
    project >"$installed"
  fi
}

agent_is_new() {
  [ -x .venv/bin/delaylab-agent ] && [ -f .venv/lib/delaylab/libdelaylab_replay.so ] &&
    [ -z "$(find crates Cargo.lock Cargo.toml -newer .venv/bin/delaylab-agent -type f -print -quit)" ]
}

build_agent() {
  say "the agent, in release mode (a minute the first time)"
  tools/build_agent.sh
}

# Python's packages are downloaded while the agent is compiled.
setup_both() {
  local python="" new=0 target
  target="$(uname -m)-unknown-linux-gnu/release"
  setup_python &
  python=$!
  trap 'kill "$python" 2>/dev/null || true' EXIT
  if ! agent_is_new; then
    build_agent || fail "the agent could not be built, see above"
    new=1
  fi
  wait "$python" || fail "the Python packages could not be installed, see above"
  trap - EXIT
  [ $new = 1 ] || return 0
  install "target/$target/delaylab-agent" .venv/bin/delaylab-agent
  install -D -m 644 "target/library/$target/libdelaylab_replay.so" .venv/lib/delaylab/libdelaylab_replay.so
}

find_python
if [ "${1:-}" = --python ]; then
  has_venv || install_packages python3-venv
  check_python
  setup_python
  exit
fi
mapfile -t packages < <(missing_packages)
[ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"
case "${1:-}" in --kinds | --tests)
  mapfile -t packages < <(missing "${kind_tools[@]}")
  [ ${#packages[@]} -eq 0 ] || install_quietly "${packages[@]}"
  ;;
esac
if [ "${1:-}" = --tests ]; then
  mapfile -t packages < <(missing "${test_tools[@]}")
  [ ${#packages[@]} -eq 0 ] || install_packages "${packages[@]}"
  mapfile -t packages < <(missing "${work_tools[@]}" "${routing_tools[@]}")
  [ ${#packages[@]} -eq 0 ] || install_quietly "${packages[@]}"
fi
check_python
check_rust
[ "${1:-}" != --packages ] || exit 0
setup_both
