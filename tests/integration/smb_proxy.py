"""A TCP proxy that understands SMB framing, to misbehave in ways no server offers.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import time

from tcp_proxy import TcpProxy

TREE_DISCONNECT, LOGOFF = 4, 2


class Proxy(TcpProxy):
    """Between client and server. delay_s: added to every request. swallow: {SMB2 command: how many
    are let through on a connection before the rest disappears}. silent: takes connections and never
    answers. requests counts SMB2 commands."""

    def __init__(self, server=None, delay_s=0.0, swallow=None, silent=False, host="127.0.0.1"):
        self.delay_s, self.swallow, self.requests = delay_s, swallow or {}, {}
        super().__init__(server, silent, host)

    def carry(self, client, server):
        left = dict(self.swallow)
        while frame := self._frame(client):
            command = int.from_bytes(frame[16:18], "little") if frame[4] == 0xFE else None
            self.requests[command] = self.requests.get(command, 0) + 1
            if command in left:
                left[command] -= 1
                if left[command] < 0:
                    continue
            if self.delay_s:
                time.sleep(self.delay_s)
            server.sendall(frame)

    @staticmethod
    def _frame(sock):
        """One message with its four bytes of length, or None at the end."""
        def exactly(count):
            data = b""
            while len(data) < count:
                piece = sock.recv(count - len(data))
                if not piece:
                    return None
                data += piece
            return data
        head = exactly(4)
        body = head and exactly(int.from_bytes(head[1:], "big"))
        return head + body if body else None
