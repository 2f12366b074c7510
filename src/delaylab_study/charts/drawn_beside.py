"""Charts drawn by a second process, while this one goes on with its work.

The renderer holds Python's interpreter lock while it draws, so a thread of this process would not
do. The second process reads requests from its standard input, a line of JSON each: a chart in
Vega-Lite (`spec`) becomes an SVG drawing, an SVG drawing (`svg`) a PNG. It answers with the length
of the picture and the picture. It ends when its input does, also if this process is killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import IO, Self

from delaylab.api.errors import DelaylabError
from delaylab.api.files import JsonObject

FAILED = "failed"
"""The word before the length if the answer is not a picture but why there is none."""
PNG_SCALE = 2


class SecondProcess:
    """The process that draws; use it as a context. Requests are answered in their order."""

    def __enter__(self) -> Self:
        """Start the process."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "delaylab_study.charts.drawn_beside"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for this process, which then ends the other one
        )
        self._queue = ThreadPoolExecutor(1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process, also in the middle of a drawing."""
        self._process.kill()
        self._queue.shutdown(cancel_futures=True)
        self._process.communicate()

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        return self._process.pid

    def svg(self, spec: JsonObject) -> Future[bytes]:
        """Draw a chart in Vega-Lite as SVG."""
        return self._queue.submit(self._answer, {"spec": spec})

    def png(self, svg: Callable[[], str]) -> Future[bytes]:
        """Turn an SVG drawing into a PNG of twice its size in pixels, once there is one."""
        return self._queue.submit(lambda: self._answer({"svg": svg()}))

    def _answer(self, request: JsonObject) -> bytes:
        """Return the picture; raise DelaylabError if the process has ended, or cannot draw it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its output ends, too
        *failed, length = self._process.stdout.readline().decode().split() or ["0"]
        answer = self._process.stdout.read(int(length))
        if failed or not answer or len(answer) < int(length):
            why = answer.decode() if failed else "the process that draws them has ended"
            raise DelaylabError(f"charts cannot be drawn: {why}", fix="try again")
        return answer


def draw_all(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    for line in requests:
        request = json.loads(line)
        try:
            picture, head = _picture(request), ""
        except (ValueError, RuntimeError) as error:
            # The lines after the first are where in the renderer it happened.
            picture, head = str(error).partition("\n")[0].encode(), f"{FAILED} "
        answers.write(f"{head}{len(picture)}\n".encode() + picture)
        answers.flush()


def _picture(request: JsonObject) -> bytes:
    import vl_convert  # noqa: PLC0415  only the second process draws

    match request:
        case {"spec": dict(spec)}:
            return vl_convert.vegalite_to_svg(spec).encode()
        case {"svg": str(svg)}:
            return bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
        case _:
            raise ValueError("neither a chart nor a drawing")


if __name__ == "__main__":
    draw_all(sys.stdin.buffer, sys.stdout.buffer)
