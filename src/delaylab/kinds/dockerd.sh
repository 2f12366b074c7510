# dockerd.sh LABDIR HIDE COMMAND …: run a container engine that leaves nothing on this machine.
# Called in a mount namespace of its own, which ends with the engine, and its mounts with it.
set -e
lab=$1 hide=$2
shift 2

# What it would leave in /run and /etc/docker goes to file systems that are not there afterwards.
exec 9<"$lab"
mount -t tmpfs -o mode=755 none /run
mkdir -p "$lab"
mount --no-canonicalize --bind /proc/self/fd/9 "$lab"
exec 9<&-
[ ! -d /etc/docker ] || mount -t tmpfs none /etc/docker

# See delaylab/kinds/guests.py: containers in CPU groups may have no real-time.
cpu=/sys/fs/cgroup/cpu
if [ "$hide" = yes ] && [ -e $cpu/cpu.rt_runtime_us ]; then umount $cpu; fi

exec "$@"
