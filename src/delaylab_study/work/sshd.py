"""The server of OpenSSH in nodes: one that gives files of a work to the nodes that hold its keys.

It has nothing in common with the machine's own server but the program: no configuration file, its
own keys, its own port at addresses of the lab, no logins but by those keys, no files but to read,
and no commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from delaylab.api.running import LiveLab
from delaylab_study.loads.programs import NotStarted, start
from delaylab_study.work.folders import WorkFolder

SSHD = "/usr/sbin/sshd"
"""The server's path in Debian; it must be started by a whole path."""
NOT_FOUND = 127
"""The exit code of sh and of unshare(1) if there is no such program (POSIX)."""
KEY = "key"
HOST_ALIAS = "delaylab"
"""The name under which a client knows a server's key, whatever its address."""
_CLIENTS = "authorized_keys"
_SERVERS = "known_hosts"
_USER = "copy"
_ROOT, _INSIDE = "root", "/work"
# Whoever holds a key may read all that the server sees. On this machine's files it therefore sees
# only programs and the folder of the work, in a root of its own: a guest must not get files of the
# machine. A server that believes to be root wants to change users, so it runs as another user of a
# user namespace, who stands for the node's own root: that works without any rights. The end of
# its PID namespace ends its children with it.
_CONFINED = (
    *("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"),
    *("sh", "-ec"),
    f"""
folder=$1; shift
mkdir "$folder/{_ROOT}"
mount -t tmpfs -o mode=755,size=1m none "$folder/{_ROOT}"
cd "$folder/{_ROOT}"
mkdir dev etc old proc .{_INSIDE}
for each in usr bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$each" ]; then cp -P "/$each" "$each"
  elif [ -d "/$each" ]; then mkdir "$each"; mount --rbind "/$each" "$each"; fi
done
for each in null zero random urandom tty; do
  : > "dev/$each"; mount --bind "/dev/$each" "dev/$each"
done
echo "{_USER}:x:1:1::/:/bin/sh" > etc/passwd
echo "{_USER}:x:1:" > etc/group
mount --bind "$folder" .{_INSIDE}
mount -t proc proc proc 2>/dev/null || mount --rbind /proc proc
PATH=/usr/sbin:/usr/bin:/sbin:/bin
pivot_root . old
cd /
umount -l old
exec unshare --user --map-user=1 --map-group=1 "$@"
""",
    "sh",
)
_AS_ROOT = ("sh", "-c", 'mkdir -p /run/sshd && exec "$@"', "sh")
_SERVER_OPTIONS = {
    "PidFile": "none",
    "UsePAM": "no",
    "UseDNS": "no",
    "StrictModes": "no",  # the folders above may be sticky ones such as /tmp
    "PermitRootLogin": "prohibit-password",
    "PasswordAuthentication": "no",
    "KbdInteractiveAuthentication": "no",
    "PermitUserRC": "no",
    "DisableForwarding": "yes",
    "ForceCommand": "internal-sftp -R",
    "Subsystem": "sftp internal-sftp",
    "MaxStartups": "1000",  # by default, 10 clients at once are too many
    # A client behind a link that is down is given up.
    "ClientAliveInterval": "5",
    "ClientAliveCountMax": "3",
}
_CLIENT_OPTIONS = {
    "BatchMode": "yes",
    "IdentitiesOnly": "yes",
    "IdentityAgent": "none",
    "PreferredAuthentications": "publickey",
    "StrictHostKeyChecking": "yes",
    "GlobalKnownHostsFile": "/dev/null",
    "HostKeyAlias": HOST_ALIAS,
    "CheckHostIP": "no",
    "UpdateHostKeys": "no",
    "CanonicalizeHostname": "no",
    "ControlPath": "none",
    "Compression": "no",
    "LogLevel": "ERROR",
}


def make_key(folder: WorkFolder) -> bytes:
    """Make a key pair in a node's folder, and return the public key, as a line."""
    path = folder.file(KEY)
    folder.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", HOST_ALIAS, "-f", path)
    return folder.run("cat", f"{path}.pub")


def allow(folder: WorkFolder, clients: Sequence[bytes]) -> None:
    """Let the clients with these public keys in at the server of a node."""
    folder.write(_CLIENTS, b"".join(clients))


def know(folder: WorkFolder, server: bytes) -> None:
    """Tell the client of a node the public key of its server."""
    folder.write(_SERVERS, f"{HOST_ALIAS} ".encode() + server)


@contextmanager
def serving(
    lab: LiveLab, folder: WorkFolder, addresses: Sequence[str], port: int
) -> Iterator[None]:
    """Run a server in a node, which listens at these addresses of it.

    Raises DelaylabError with the server's last line if it does not start.
    """
    own = lab.has_own_root(folder.node)
    options = {
        **_SERVER_OPTIONS,
        "HostKey": seen(lab, folder, KEY),
        "AuthorizedKeysFile": seen(lab, folder, _CLIENTS),
        "Port": str(port),
    }
    argv = [*(_AS_ROOT if own else (*_CONFINED, str(folder.path)))]
    argv += [SSHD, "-D", "-e", "-f", "/dev/null"]
    argv += _written(options)
    for address in addresses:
        argv += ["-o", f"ListenAddress={address}"]
    ready = [re.compile(re.escape(f"Server listening on {each} ").encode()) for each in addresses]
    session = lab.node_session(folder.node)
    try:
        try:
            start(session, argv, tuple(ready), name="sshd")
        except NotStarted as error:
            if error.exit == NOT_FOUND:
                error.fix = "apt-get install openssh-server"
            raise
        yield
    finally:
        session.close()


def login(lab: LiveLab, node: str) -> str:
    """Return the user that clients are at the server of a node."""
    return "root" if lab.has_own_root(node) else _USER


def seen(lab: LiveLab, folder: WorkFolder, name: str) -> str:
    """Return the path of a file in a far node's folder, as its server sees it."""
    return folder.file(name) if lab.has_own_root(folder.node) else f"{_INSIDE}/{name}"


def client_options(folder: WorkFolder, port: int) -> list[str]:
    """Return the options by which a client of a node reaches its server, and touches nothing else.

    It reads no file of the user's or the machine's.
    """
    options = {
        **_CLIENT_OPTIONS,
        "IdentityFile": folder.file(KEY),
        "UserKnownHostsFile": folder.file(_SERVERS),
        "Port": str(port),
    }
    return ["-F", "/dev/null", *_written(options)]


def _written(options: dict[str, str]) -> list[str]:
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
