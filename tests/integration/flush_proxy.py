"""A TCP proxy that knows NFS and iSCSI well enough to hold up the request to flush.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import time

from tcp_proxy import TcpProxy

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


class FlushProxy(TcpProxy):
    """Between client and server. delay_s: what a flush is held up; None: it is never passed on."""

    def __init__(self, protocol, server, delay_s):
        self.next_request = {"nfs": nfs_request, "iscsi": iscsi_request}[protocol]
        self.delay_s, self.flushes = delay_s, 0
        super().__init__(server)

    def carry(self, client, server):
        while True:
            request, flush = self.next_request(client)
            if flush:
                self.flushes += 1
                if self.delay_s is None:
                    continue
                time.sleep(self.delay_s)
            server.sendall(request)
