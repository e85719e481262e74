"""A worker process: takes jobs from the service over a socket, does one at a time, answers.

``python -m sandbox.worker FD`` runs it. The first message holds its Slot and the toolchains. It ends when the socket
closes. A message is a pickle after its length in 4 bytes. Both ends are this package.
"""

import ctypes
import pickle
import signal
import socket
import struct
import sys
from typing import Any

from sandbox.judging import Judge

HEADER = struct.Struct("=I")


def pack(message: object) -> bytes:
    """A message as it goes over the socket."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def main() -> None:
    """Serve jobs until the service closes the socket."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the service drains, then closes the socket
    service = socket.socket(fileno=int(sys.argv[1]))
    stream = service.makefile("rb")

    def next_message() -> Any:
        head = stream.read(HEADER.size)
        return pickle.loads(stream.read(HEADER.unpack(head)[0])) if len(head) == HEADER.size else None

    judge = Judge(*next_message())
    while (job := next_message()) is not None:
        service.sendall(pack(judge.do(job)))


if __name__ == "__main__":
    main()
