"""A TCP proxy that knows NFS and iSCSI well enough to hold up the request to flush.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import socket
import threading
import time

NFS_PROGRAM, COMMIT3, COMMIT4, PUTFH = 100003, 21, 5, 22
SCSI_COMMAND, SYNCHRONIZE_CACHE = 0x01, (0x35, 0x91)


def read_exactly(sock, count):
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


def word(data, at):
    return int.from_bytes(data[at:at + 4], "big")


def nfs_request(sock):
    """(bytes, whether it is a COMMIT) of the next record."""
    head = read_exactly(sock, 4)
    body = read_exactly(sock, word(head, 0) & 0x7FFFFFFF)
    return head + body, is_commit(body)


def is_commit(call):
    if word(call, 4) != 0 or word(call, 12) != NFS_PROGRAM:
        return False
    at = 24  # behind the procedure: credentials and verifier, each flavour, length, body
    for _ in range(2):
        at += 8 + (word(call, at + 4) + 3) // 4 * 4
    if word(call, 16) == 3:
        return word(call, 20) == COMMIT3
    if word(call, 20) != 1:  # COMPOUND
        return False
    at += 4 + (word(call, at) + 3) // 4 * 4 + 8  # tag, minor version, number of operations
    if word(call, at) == PUTFH:
        at += 8 + (word(call, at + 4) + 3) // 4 * 4
    return word(call, at) == COMMIT4


def iscsi_request(sock):
    """(bytes, whether it is a SYNCHRONIZE CACHE) of the next PDU."""
    head = read_exactly(sock, 48)
    rest = head[4] * 4 + (int.from_bytes(head[5:8], "big") + 3) // 4 * 4
    flush = head[0] & 0x3F == SCSI_COMMAND and head[32] in SYNCHRONIZE_CACHE
    return head + read_exactly(sock, rest), flush


class FlushProxy:
    """Between client and server. delay_s: what a flush is held up; None: it is never passed on."""

    def __init__(self, protocol, server, delay_s):
        self.next_request = {"nfs": nfs_request, "iscsi": iscsi_request}[protocol]
        self.server, self.delay_s, self.flushes, self.sockets = server, delay_s, 0, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # close() alone leaves the port open
        self.listener.close()
        for one in self.sockets:
            one.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.server)
            except OSError:
                return
            self.sockets += [client, server]
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client, server):
        try:
            while True:
                request, flush = self.next_request(client)
                if flush:
                    self.flushes += 1
                    if self.delay_s is None:
                        continue
                    time.sleep(self.delay_s)
                server.sendall(request)
        except OSError:
            self._hang_up(server)

    def _answers(self, server, client):
        try:
            while data := server.recv(1 << 18):
                client.sendall(data)
        except OSError:
            pass
        self._hang_up(client)

    @staticmethod
    def _hang_up(sock):
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
