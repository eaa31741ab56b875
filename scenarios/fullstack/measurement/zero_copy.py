"""Sends that lend the kernel their pages (MSG_ZEROCOPY), and what it says of them afterwards.

Documentation/networking/msg_zerocopy.rst: each send has a number; the socket's error queue tells from which to which
the kernel has done with, and whether it copied them all the same (SO_EE_CODE_ZEROCOPY_COPIED): over a loopback and a
veth always, for the receiver's socket may keep them for long.
"""

from __future__ import annotations

import errno
import select
import socket
import struct

from probes.engine.measured import NotApplicable

_SO_ZEROCOPY, _MSG_ZEROCOPY = 60, 0x4000000  # include/uapi/asm-generic/socket.h, include/linux/socket.h
_ERROR = struct.Struct("=IBBBBII")  # struct sock_extended_err, include/uapi/linux/errqueue.h
_ZEROCOPY, _COPIED = 5, 1  # SO_EE_ORIGIN_ZEROCOPY, SO_EE_CODE_ZEROCOPY_COPIED
_WAIT_S = 30.0


class ZeroCopy:
    """Of one connection. `sends`: until now; `copied`: those of the ones that are done."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._allowed = False
        self._poll = select.poll()
        self._poll.register(connection, 0)  # errors are always told
        self.sends = self._done = self.copied = 0

    def send(self, data: memoryview) -> None:
        """Until all of it is on its way. Raises NotApplicable where the kernel has no such sends."""
        if not self._allowed:
            try:
                self._connection.setsockopt(socket.SOL_SOCKET, _SO_ZEROCOPY, 1)
            except OSError as why:
                raise NotApplicable(f"the kernel has no MSG_ZEROCOPY here ({why.strerror})") from None
            self._allowed = True
        view = data
        while view:
            try:
                sent = self._connection.send(view, _MSG_ZEROCOPY)
            except OSError as why:
                if why.errno != errno.ENOBUFS:
                    raise
                if self._done == self.sends:
                    reason = (
                        "no pages may be lent: net.core.optmem_max or the limit of locked memory (ulimit -l)"
                    )
                    raise NotApplicable(reason) from None
                self.wait(self._done + 1)
                continue
            self.sends += 1
            view = view[sent:]

    def wait(self, sends: int) -> None:
        """Until the kernel has done with so many."""
        while self._done < sends:
            if not self._poll.poll(_WAIT_S * 1000):
                raise BlockingIOError(errno.EAGAIN, "the pages that were sent do not come back")
            _, control, _, _ = self._connection.recvmsg(0, 512, socket.MSG_ERRQUEUE)
            for _, _, message in control:
                _, origin, _, code, _, first, last = _ERROR.unpack_from(message)
                if origin == _ZEROCOPY:
                    count = (last - first + 1) & 0xFFFFFFFF
                    self._done += count
                    self.copied += count if code & _COPIED else 0
