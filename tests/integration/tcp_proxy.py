"""A TCP proxy: takes connections, carries bytes both ways, hangs up when either side does. What is
done with the requests is said by those that derive from it.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import socket
import threading


class TcpProxy:
    """Between clients and server (host, port). silent: takes connections and never answers."""

    def __init__(self, server, silent=False, host="127.0.0.1"):
        self.server, self.silent, self.sockets = server, silent, []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, 0), family=family, backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        # close() alone leaves the port open while accept() waits
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.sockets:
            one.close()

    def carry(self, client, server):
        """Reads requests of client and sends to server what it shall get, until one is gone."""
        raise NotImplementedError

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                self.sockets.append(client)
                if self.silent:
                    continue
                server = socket.create_connection(self.server)
            except OSError:
                return
            self.sockets.append(server)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._until_the_end, args=(self.carry, client, server),
                             daemon=True).start()
            threading.Thread(target=self._until_the_end, args=(self._answer, server, client),
                             daemon=True).start()

    @staticmethod
    def _answer(server, client):
        while data := server.recv(1 << 18):
            client.sendall(data)

    @staticmethod
    def _until_the_end(carry, source, sink):
        try:
            carry(source, sink)
        except OSError:
            pass
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
