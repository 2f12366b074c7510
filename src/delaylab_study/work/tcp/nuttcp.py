"""nuttcp as the program of a TCP stream. Its rate and its progress are those of the far side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from delaylab.api.agents import AgentError, ExecDone, Result, Session
from delaylab_study.loads.programs import start
from delaylab_study.work.jobs import JobResult, done_of, last_line

_OFTEN = "-i0.1"
"""The option with the seconds between two reports of progress."""
_SERVE = """
listens=$(printf ':%04X 00000000:0000 0A' "$1")
(
  until grep -q "$listens" /proc/net/tcp; do
    kill -0 $$ 2>/dev/null || exit
    sleep 0.02
  done
  echo listening
) &
exec nuttcp -S --nofork -P "$1" -p "$2"
"""
"""A shell's commands: the server says nothing when it listens, but /proc/net/tcp does."""
_SEND = """
tries=5
while :; do
  { said=$(nuttcp "$@" 2>&1 >&3 3>&-); } 3>&1
  code=$?
  tries=$((tries - 1))
  case "$said" in
    *errno=111*) [ $tries = 0 ] || { sleep 0.2; continue; } ;;
  esac
  [ -z "$said" ] || printf '%s\\n' "$said" >&2
  exit $code
done
"""
"""A shell's commands: a client that was refused (ECONNREFUSED) connects again.

It opens a second connection for its data once the server has answered the first one. A server that
is short of a CPU may not listen there yet.
"""
_LISTENING = b"listening\n"
_NUMBER = rb"(\d{1,12}\.\d{1,12})"
_STEP = re.compile(rb"^megabytes=%b real_sec=%b" % (_NUMBER, _NUMBER), re.MULTILINE)
_TOTAL = re.compile(rb"^megabytes=%b real_seconds=%b" % (_NUMBER, _NUMBER), re.MULTILINE)
_UNREACHED = re.compile(rb"only supported for client/server mode|server version 0\.0\.0")
"""Words of nuttcp when it could not connect, as if it had found a server of another sort."""
_BITS = 8 * (1 << 20)
"""The bits of what nuttcp calls a megabyte."""


def serve(session: Session, ports: tuple[int, int]) -> None:
    """Start a server for one stream; return when it listens."""
    own, data = map(str, ports)
    start(session, ["sh", "-c", _SERVE, "sh", own, data], (re.compile(_LISTENING),), "nuttcp")


def client(to: str, ports: tuple[int, int], seconds: int) -> list[str]:
    """Return the command that sends to such a server."""
    own, data = map(str, ports)
    options = ["-t", f"-T{seconds}", _OFTEN, "-fparse", "-P", own, "-p", data, to]
    return ["sh", "-c", _SEND, "nuttcp", *options]


def read(result: Result[ExecDone]) -> JobResult:
    """Return the rate in bit/s that arrived at the far side, as its server counted it.

    Raises AgentError if the stream failed.
    """
    total = _TOTAL.search(result.stdout)
    if _UNREACHED.search(result.stderr):
        raise AgentError("nuttcp could not connect to its server")
    if result.done.exit != 0 or total is None or not float(total[2]):
        raise AgentError(f"nuttcp said: {last_line(result)}")
    rate = float(total[1]) * _BITS / float(total[2])
    return done_of(result.done, rate, progress=tuple(_progress(result.stdout)))


def _progress(said: bytes) -> Iterator[tuple[int, float]]:
    """Yield the bits that had arrived at the end of each interval."""
    steps = [(float(each[2]), float(each[1])) for each in _STEP.finditer(said)]
    ends_s = accumulate(seconds for seconds, _ in steps)
    amounts = accumulate(megabytes for _, megabytes in steps)
    for end_s, amount in zip(ends_s, amounts, strict=True):
        yield round(end_s * 1e9), amount * _BITS
