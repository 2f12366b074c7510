# sealed.sh FOLDER FILE … -- COMMAND …: run a command that sees of this machine its folder, these files (read-only),
# the distribution's programs in /usr, and nothing else. Called in a mount namespace of its own, which ends with it.
set -e
folder=$1
shift
root=$folder/root
mkdir "$root"
mount -t tmpfs -o mode=755 none "$root"

# show PATH: the same file or folder at the same place. Read-only is refused to an ordinary user where the file system
# has other limits besides, which a change would lift; the file is then that user's own.
show() {
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root${1%/*}" && : >"$root$1"; fi
  mount --bind "$1" "$root$1"
}
show_read_only() {
  show "$1"
  mount -o remount,bind,ro "$root$1" 2>/dev/null || true
}

show_read_only /usr
for link in /bin /sbin /lib /lib64; do
  if [ -L $link ]; then cp -P $link "$root$link"; elif [ -d $link ]; then show_read_only $link; fi
done
for device in /dev/null /dev/zero /dev/random /dev/urandom /dev/net/tun; do show $device; done
mkdir -m 1777 "$root/dev/shm" "$root/tmp"
# No /proc and no /sys: they hold settings of this machine that are root's to write, whatever capabilities it lacks.
while [ "$1" != -- ]; do
  show_read_only "$1"
  shift
done
shift

# The folder with its sockets, without the file systems that were just mounted below it.
mkdir -p "$root$folder"
mount --bind "$folder" "$root$folder"
cd "$root"
mkdir .outside proc
pivot_root . .outside
cd "$folder"
mount -t proc none /proc
umount -l /.outside
umount -l /proc
rmdir /.outside /proc
exec "$@"
