"""The process beside a worker that runs trials: started when it is needed, ended with its labs."""

from __future__ import annotations

import subprocess
import sys
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from delaylab.api.errors import DelaylabError
from delaylab_study.campaign.parcel import Declared, MachineQuestion, Parcel, TrialJob
from delaylab_study.study_file.placed import StudyMachine

END_S = 60.0
"""The time that a process has to take down its lab."""


class ProcessEnded(DelaylabError):
    """The error that the process that ran trials ended by itself."""


class TrialsBeside:
    """A process that runs one trial at a time. Threads may end it while another waits for it.

    `machine` is the machine that carries the labs, None for this one.
    """

    def __init__(self, machine: StudyMachine | None = None) -> None:
        self._machine = machine
        self._asking = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._campaign = ""

    def declare(self, study: bytes) -> Declared:
        """Return what the machine is, and which trials of a study it cannot run."""
        answer = self._asked(MachineQuestion(study))
        if not isinstance(answer, Declared):
            raise ProcessEnded(f"an unexpected answer: {type(answer).__name__}")
        return answer

    def run(self, job: TrialJob) -> Parcel:
        """Run a trial and return its outcome.

        Raise ProcessEnded if the process ends meanwhile, and the error of a job that makes no
        sense.
        """
        self._campaign = job.campaign
        answer = self._asked(job)
        if not isinstance(answer, Parcel):
            raise ProcessEnded(f"an unexpected answer: {type(answer).__name__}")
        return answer

    def end(self, campaign: str, within_s: float = END_S) -> None:
        """End the process if it works for a campaign; its lab is taken down."""
        if self._campaign == campaign:
            self.close(within_s)

    def close(self, within_s: float = END_S) -> None:
        """End the process, and wait until its lab is down. One that stays is killed."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _asked(self, question: MachineQuestion | TrialJob) -> object:
        with self._asking:
            pipe, process = self._started()
            try:
                pipe.send(question)
                answer = pipe.recv()
            except (EOFError, OSError):
                code = process.wait()
                self._process = None
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise ProcessEnded(f"the process that ran the trial ended by {how}") from None
        if isinstance(answer, DelaylabError):
            raise answer
        return answer

    def _started(self) -> tuple[Connection, subprocess.Popen[bytes]]:
        if self._process is None or self._pipe is None or self._process.poll() is not None:
            ours, theirs = Pipe()
            other = self._machine
            of_other = [other.name, other.spec.model_dump_json()] if other is not None else []
            program = [sys.executable, "-m", f"{__package__}.trial_process"]
            self._process = subprocess.Popen(
                [*program, str(theirs.fileno()), *of_other],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
            theirs.close()
            self._pipe = ours
        return self._pipe, self._process
