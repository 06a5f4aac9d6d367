"""A TCP proxy that understands SMB framing, to misbehave in ways no server offers.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import socket
import threading
import time

TREE_DISCONNECT, LOGOFF = 4, 2


class Proxy:
    """Between client and server. delay_s: added to every request. swallow: {SMB2 command: how many
    are let through on a connection before the rest disappears}. silent: takes connections and never
    answers. requests counts SMB2 commands."""

    def __init__(self, server=None, delay_s=0.0, swallow=None, silent=False, host="127.0.0.1"):
        self.server, self.delay_s, self.silent = server, delay_s, silent
        self.swallow = swallow or {}
        self.requests = {}
        self.sockets = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, 0), family=family, backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # close() alone leaves the port open while accept() waits
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.sockets:
            one.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(client)
            if self.silent:
                continue
            server = socket.create_connection(self.server)
            self.sockets.append(server)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client, server):
        left = dict(self.swallow)
        try:
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
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    @staticmethod
    def _answers(server, client):
        try:
            while data := server.recv(1 << 16):
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass

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
