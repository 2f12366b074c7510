"""The Python side of the framed protocol."""

import json
import os
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from delaylab.agent.frames import MAX_PAYLOAD, Decoder, Frame, FrameKind
from delaylab.agent.result import AgentError, AgentGone, NoAnswer, Result
from delaylab.agent.session import FRAME_S, Session
from delaylab.agent.stream import Descriptors
from delaylab.agent.watched import wait_watching
from delaylab.agent.wire import sessions
from delaylab.agent.wire.sessions import Exec, Hello
from delaylab.errors import DelaylabError
from delaylab.lab import copies
from delaylab_study.loads import programs
from tests.waiting import PATIENCE_S

frames = st.builds(
    Frame,
    st.sampled_from(FrameKind),
    st.binary(max_size=200),
    st.integers(min_value=0, max_value=0xFFFF),
)


@given(st.lists(frames, max_size=6), st.data())
def test_frames_round_trip_in_any_split(sent: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(frame.encode() for frame in sent)
    decoder, received = Decoder(), list[Frame]()
    while stream:
        cut = data.draw(st.integers(min_value=1, max_value=len(stream)))
        received += decoder.feed(stream[:cut])
        stream = stream[cut:]
    assert received == sent


def test_a_frame_is_these_bytes() -> None:
    assert Frame(FrameKind.STDOUT, b"hi", 258).encode() == b"\x02\0\0\0\x02\x01\x03hi"


@given(st.binary(max_size=64))
def test_any_bytes_are_frames_or_a_value_error(data: bytes) -> None:
    decoder = Decoder()
    try:
        decoder.feed(data)
    except ValueError:
        assert len(data) >= 7


def test_a_length_over_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="over the limit"):
        Decoder().feed((MAX_PAYLOAD + 1).to_bytes(4, "little") + b"\0\0\0")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
SAID = st.one_of(
    st.binary(max_size=40),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda name, value: json.dumps({name: value}).encode(),
        st.sampled_from(["event", "done", "error", "used"]),
        JSON | st.fixed_dictionaries({"used": JSON}) | st.fixed_dictionaries({"what": JSON}),
    ),
    st.dictionaries(st.sampled_from(["event", "done", "error", "used"]), JSON).map(
        lambda message: json.dumps(message).encode()
    ),
    st.just(b'{"event": {}, "error": []}'),
    st.just(b"[" * 100_000),
)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(FrameKind), SAID), max_size=5), st.booleans())
def test_whatever_an_agent_says_is_a_result_or_one_error(
    said: list[tuple[FrameKind, bytes]], with_input: bool
) -> None:
    """The agent in a guest is the guest's."""
    ours, theirs = os.pipe(), os.pipe()
    session = Session("guest", Descriptors(theirs[0], ours[1], lambda: None))
    reader = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(ours[0], 9), b"")])
    reader.start()
    problem = None
    try:
        result = session.start(Exec(argv=["cat"], stdin=True))
        os.write(theirs[1], b"".join(Frame(kind, text).encode() for kind, text in said)[:60_000])
        os.close(theirs[1])
        if with_input:
            session.stdin(bytes(200_000))
        session.finish()
        assert isinstance(result.done, sessions.ExecDone)
        result.rows("stamps")
    except AgentError as error:
        problem = str(error)
    finally:
        os.close(ours[1])
        reader.join()
        for end in (ours[0], theirs[0]):
            os.close(end)
    assert problem is None or "guest" in problem or "table" in problem


def test_a_closed_session_touches_no_descriptor() -> None:
    """The numbers of its descriptors may be those of other files by then."""
    reader, writer = os.pipe()
    closings = []
    session = Session("node.a", Descriptors(reader, writer, lambda: closings.append(1)))
    session.close()
    session.close()
    assert len(closings) == 1
    for use in (session.stop, session.check, session.fileno, session.finish):
        with pytest.raises(AgentGone, match="closed"):
            use()
    os.set_blocking(reader, False)
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    for descriptor in (reader, writer):
        os.close(descriptor)


@given(st.binary(max_size=80), st.booleans())
@example(data=bytes(8), with_header=True)
def test_a_table_is_one_or_an_error(data: bytes, with_header: bool) -> None:
    columns = '{"name":"number","type":"u32"},{"name":"text","type":"text","values":["a"]}'
    header = f'{{"rows":1,"columns":[{columns}]}}'.encode()
    part = len(header).to_bytes(4, "little") + header + data if with_header else data
    try:
        (table,) = Result(Hello(), {}, {"texts": [part]}).rows("texts")
    except AgentError:
        assert data != bytes(8)
        return
    assert table.texts["text"] == ["a"]


def test_an_end_that_came_together_with_an_event_is_not_waited_for() -> None:
    """The reader may be so late that all of a short request's answers come in one read."""
    reader, answers = os.pipe()
    requests, writer = os.pipe()
    session = Session("node.a", Descriptors(reader, writer, lambda: None))
    result = session.start(Hello())
    event, done = ({"event": {"ready": True}}, {"done": {"version": "1", "pid": 1, "clock": "c"}})
    for message in (event, done):
        frame = Frame(FrameKind.MESSAGE, json.dumps(message).encode())
        os.write(answers, frame.encode())
    session.event(1)
    wait_watching(session, [])
    assert result.done.pid == 1
    for descriptor in (reader, answers, requests, writer):
        os.close(descriptor)


@pytest.fixture
def silent() -> Iterator[tuple[Session, int]]:
    """A session with an agent that answers nothing, and where its answers would come from."""
    reader, answers = os.pipe()
    requests, writer = os.pipe()
    yield Session("node.a", Descriptors(reader, writer, lambda: None)), answers
    for descriptor in (reader, answers, requests, writer):
        os.close(descriptor)


def test_a_frame_that_comes_by_and_by_has_a_limit(
    silent: tuple[Session, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its bytes is a sign of life, so no wait for a silent agent would end."""
    session, answers = silent
    session.start(Exec(argv=["cat"]))
    passed_s, now_s = 0.0, time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now_s() + passed_s)
    frame = Frame(FrameKind.STDOUT, b"text").encode()
    for _ in range(3):  # whole frames, however slow: it lives
        for byte in frame:
            os.write(answers, bytes([byte]))
            assert not session.poll_done()
            passed_s += FRAME_S / len(frame)
    with pytest.raises(AgentError, match="a frame took more than 60 s"):  # noqa: PT012
        for byte in frame:
            os.write(answers, bytes([byte]))
            session.poll_done()
            passed_s += FRAME_S


def test_output_that_is_kept_in_memory_has_a_limit(
    silent: tuple[Session, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delaylab.agent.result.MOST_KEPT", 1 << 20)
    session, answers = silent
    session.start(Exec(argv=["yes"]))
    frame = Frame(FrameKind.STDOUT, bytes(60_000)).encode()
    with pytest.raises(AgentError, match="the output of 'exec' is larger than 1 MiB"):  # noqa: PT012
        for _ in range(20):
            os.write(answers, frame)
            session.poll_done()


READY = Frame(FrameKind.MESSAGE, b'{"event": {"ready": true}}').encode()
TABLE = Frame(FrameKind.TABLE, bytes([5]) + b"hosts" + bytes(60_000)).encode()


@pytest.mark.parametrize("flood", [READY * 1000, TABLE], ids=["events", "tables"])
@pytest.mark.parametrize("asked", ["check", "stdin", "finish"])
def test_what_comes_without_end_has_a_limit(
    silent: tuple[Session, int],
    monkeypatch: pytest.MonkeyPatch,
    flood: bytes,
    asked: str,
) -> None:
    """An agent of a guest sends for ever, while a program is watched, fed or waited for."""
    monkeypatch.setattr("delaylab.agent.waiting_frames.MOST_WAITING", 500_000)
    monkeypatch.setattr("delaylab.agent.session.STDIN_WINDOW", 32 << 10)  # a pipe holds more
    session, answers = silent
    session.start(Exec(argv=["x"], stdin=True))
    ends = threading.Event()

    def send() -> None:
        os.set_blocking(answers, False)
        rest = flood
        while not ends.is_set():
            try:
                rest = rest[os.write(answers, rest) :] or flood
            except BlockingIOError:
                ends.wait(0.001)
        os.set_blocking(answers, True)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        if asked == "finish" and flood is not TABLE:
            # Events are passed on at once: nothing is kept, and the wait has its limit.
            monkeypatch.setattr("delaylab.agent.session.FRAME_S", 0.1)
            with pytest.raises(NoAnswer):
                session.finish(0.1)
            return
        with pytest.raises(AgentError, match=r"it sent (more than|a table 'hosts')"):  # noqa: PT012
            while True:
                if asked == "check":
                    session.check()
                elif asked == "finish":
                    session.finish(PATIENCE_S)
                else:
                    session.stdin(bytes(1 << 20), time.monotonic() + PATIENCE_S)
    finally:
        ends.set()
        sender.join()


def test_an_agent_that_reads_nothing_holds_nobody_up(
    silent: tuple[Session, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delaylab.agent.stream.WRITE_S", 0.1)
    session, _ = silent
    session.start(Exec(argv=["x"], stdin=True))
    with pytest.raises(NoAnswer, match=r"node\.a: it takes no input within 0\.1 s"):
        session.stdin(bytes(1 << 20))


def test_a_node_that_takes_no_file_ends_the_copy(
    silent: tuple[Session, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent says that it used the first bytes, and then nothing."""
    monkeypatch.setattr(copies, "SILENT_S", 0.1)
    monkeypatch.setattr("delaylab.agent.session.STDIN_WINDOW", 32 << 10)
    session, _ = silent
    archive = copies._Archive(session, ["x"], "node a", takes=True)
    with pytest.raises(NoAnswer, match="the command takes no input"):
        archive.write(bytes(1 << 20))


def test_the_output_of_a_load_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MOST_KEPT", 1 << 20)
    output = programs.ProgramOutput(Result(Exec(argv=["yes"]), label="node.a"))
    output.add(Frame(FrameKind.STDOUT, bytes(600_000)))
    with pytest.raises(AgentError, match=r"node\.a: the output of a load is larger than 1 MiB"):
        output.add(Frame(FrameKind.STDOUT, bytes(600_000)))


def test_a_flood_of_small_frames_is_read_in_time(silent: tuple[Session, int]) -> None:
    """Each of them once: a list whose front is taken off would be copied for each frame."""
    session, answers = silent
    session.start(Exec(argv=["x"]))
    written = threading.Thread(target=os.write, args=(answers, READY * 40_000))
    written.start()
    seen = 0
    began_s = time.process_time()
    while seen < 40_000:
        session.event(PATIENCE_S)
        seen += 1
    written.join()
    assert time.process_time() - began_s < PATIENCE_S


@pytest.mark.parametrize(
    "number", ["1e999", "NaN", "-Infinity", str(2**62 + 1), str(-(2**63)), "9" * 5000]
)
def test_a_number_that_no_dataset_holds_is_no_message(
    silent: tuple[Session, int], number: str
) -> None:
    session, answers = silent
    session.start(Hello())
    message = f'{{"done": {{"version": "1", "pid": 1, "clock": "c", "x": [{number}]}}}}'
    os.write(answers, Frame(FrameKind.MESSAGE, message.encode()).encode())
    with pytest.raises(AgentError, match=r"node\.a.*malformed message"):
        session.finish(1)


def test_an_answer_that_is_late_names_the_whole_time(silent: tuple[Session, int]) -> None:
    """Also if events came meanwhile, or if others were waited for before."""
    session, answers = silent
    session.start(Hello())
    os.write(answers, Frame(FrameKind.MESSAGE, b'{"event": {"ready": true}}').encode())
    with pytest.raises(NoAnswer, match=r"hello: no answer within 0\.2 s$"):
        session.finish(0.2)
    asked_s = time.monotonic() - 60
    with pytest.raises(NoAnswer, match=r"hello: no answer within 30 s$"):
        session.finish(30, since_s=asked_s)
    with pytest.raises(NoAnswer, match=r"no sign of life within 30 s$"):
        session.read_output(30, asked_s)
    assert time.monotonic() < asked_s + 60 + 30


def test_a_program_that_does_not_end_is_named(
    silent: tuple[Session, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "RUN_DEADLINE_S", 0.2)
    session, _ = silent
    with pytest.raises(DelaylabError, match=r"rm did not end within 0\.2 s$"):
        programs.run(session, ["rm", "-rf", "x"])
