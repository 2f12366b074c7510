#!/usr/bin/env bash
# Prints what somebody has changed on this machine that may hide a step that a new one needs: modes,
# settings of the kernel, packages, files of earlier runs. It changes nothing.
set -uo pipefail
cd "$(dirname "$0")/.."

found=0
say() {
  found=1
  printf 'this machine is no longer new: %s\n' "$*"
}

# Without udev the kernel makes both for root alone.
for device in /dev/net/tun /dev/kvm; do
  [ -e $device ] || continue
  mode=$(stat -c %a $device)
  [ "$mode" = 600 ] || say "$device has mode $mode"
done

# setting NAME DEFAULT: what the kernel has when it starts.
setting() {
  local value
  # A new machine may have no sysctl(8).
  value=$(tr '\t' ' ' 2>/dev/null <"/proc/sys/${1//.//}") || return 0
  [ -z "$value" ] || [ "$value" = "$2" ] || say "$1 is '$value', not '$2'"
}
setting net.ipv4.ping_group_range "1 0"
setting net.ipv4.ip_forward 0
setting net.ipv6.conf.all.forwarding 0
setting kernel.sched_rt_runtime_us 950000
setting kernel.perf_event_paranoid 2
setting vm.overcommit_memory 0

# Programs that setup.sh installs.
tools=$(sed -n 's/^[a-z_]*tools=(//;T;:a;/)/!{N;ba};s/).*//;s/\n/ /g;p' tools/setup.sh)
there=""
for entry in $tools; do
  program=${entry%%:*}
  if command -v "$program" >/dev/null 2>&1 || [ -x "/usr/sbin/$program" ]; then there+=" $program"; fi
done
[ -z "$there" ] || say "it has, of what setup installs:$there"

cache=${DELAYLAB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/delaylab}
[ ! -d "$cache" ] || say "$cache has images of earlier runs"
run=${DELAYLAB_RUN:-/run/delaylab}
[ -z "$(ls -A "$run" 2>/dev/null)" ] || say "$run is not empty"
namespaces=$(ip netns list 2>/dev/null | wc -l)
[ "$namespaces" = 0 ] || say "it has $namespaces network namespaces with names"
[ $found = 1 ] || echo "this machine seems to be new"
