"""What disks hold, as byte strings at offsets: for tests that must recognise and leave them alone.

Each function writes into a sparse file of the given size. Structures that no installed program
makes are built by hand, far enough for libblkid.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import struct
import zlib

from harness import run, tool

MIB = 1 << 20


def put(path, *pieces):
    """pieces: (offset, bytes); a negative offset counts from the end."""
    with open(path, "r+b") as file:
        size = file.seek(0, 2)
        for offset, data in pieces:
            file.seek(offset if offset >= 0 else size + offset)
            file.write(data)


def mbr_entry(kind, first, count):
    return struct.pack("<B3xB3xII", 0, kind, first, count)


def mbr(path, size):
    put(path, (440, struct.pack("<I", 0x1badcafe)), (446, mbr_entry(0x83, 2048, 8192)),
        (510, b"\x55\xaa"))


def gpt_header(size, backup):
    """Header and entry array of one partition; returns [(offset, bytes)]."""
    sectors = size // 512
    entry = struct.pack("<16s16sQQQ72s", bytes(range(16)), bytes(range(16, 32)), 2048, 4095, 0,
                        "data".encode("utf-16-le"))
    entries = entry.ljust(128 * 128, b"\0")
    here, other = (sectors - 1, 1) if backup else (1, sectors - 1)
    entries_at = sectors - 33 if backup else 2

    def header(crc):
        return struct.pack("<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, 92, crc, 0, here, other, 34,
                           sectors - 34, bytes(16), entries_at, 128, 128, zlib.crc32(entries))
    return [(here * 512, header(zlib.crc32(header(0)))), (entries_at * 512, entries)]


def gpt(path, size):
    put(path, (446, mbr_entry(0xee, 1, min(size // 512 - 1, 0xffffffff))), (510, b"\x55\xaa"),
        *gpt_header(size, False), *gpt_header(size, True))


def gpt_backup_only(path, size):
    put(path, *gpt_header(size, True))


def ext4(path, size):
    run(tool("mke2fs", "e2fsprogs"), "-q", "-F", "-t", "ext4", "-L", "precious", path)


def ntfs(path, size):
    run(tool("mkntfs", "ntfs-3g"), "-F", "-Q", "-q", "-p", "0", "-H", "255", "-S", "63", path)


def swap(path, size):
    run(tool("mkswap", "util-linux"), path)


def xfs(path, size):
    block, inode = 4096, 512
    superblock = struct.pack(
        ">4sIQQQ16sQQQQIIIIIHHHH12s8B", b"XFSB", block, size // block, 0, 0, bytes(16), 0, 128, 129,
        130, 1, size // block, 1, 0, 512, 0xb4a4, 512, inode, block // inode, b"", 12, 9, 9, 3, 14,
        0, 0, 25)
    put(path, (0, superblock))


def lvm(path, size):
    def crc(data):
        return zlib.crc32(data, 0xf597a6cf ^ 0xffffffff) ^ 0xffffffff
    tail = struct.pack("<I8s", 32, b"LVM2 001") + b"0123456789abcdef0123456789abcdef"
    tail = tail.ljust(512 - 20, b"\0")
    put(path, (512, struct.pack("<8sQI", b"LABELONE", 1, crc(tail)) + tail))


def luks(path, size):
    put(path, (0, struct.pack(">6sH32s32s32s", b"LUKS\xba\xbe", 1, b"aes", b"xts-plain64",
                              b"sha256")))


def md(path, size):
    superblock = bytearray(struct.pack("<IIII16s32sQIIQII", 0xa92b4efc, 1, 0, 0, bytes(range(16)),
                                       b"nas:0", 0, 1, 0, size // 512 - 2048, 0, 2))
    superblock += struct.pack("<IIQQII", 0, 0, 0, 0, 0, 0)[:128 - len(superblock)]
    superblock = superblock.ljust(128, b"\0") + struct.pack("<QQQ", 2048, size // 512 - 2048, 8)
    superblock = bytearray(superblock.ljust(256, b"\0"))
    total = sum(struct.unpack("<64I", superblock))
    struct.pack_into("<I", superblock, 216, ((total & 0xffffffff) + (total >> 32)) & 0xffffffff)
    put(path, (4096, bytes(superblock)))


def vmfs(path, size):
    put(path, (MIB, struct.pack("<II", 0xc001d00d, 3)))


def one_byte(path, size):
    """Nothing known, in the middle."""
    put(path, (size // 2 + 12345, b"\1"))


# name -> (function, words that the message must have)
ALL = {
    "mbr": (mbr, "MBR partition table"),
    "gpt": (gpt, "GPT partition table"),
    "gpt-backup": (gpt_backup_only, "GPT partition table"),
    "ext4": (ext4, "ext4 file system 'precious'"),
    "ntfs": (ntfs, "ntfs file system"),
    "swap": (swap, "swap"),
    "xfs": (xfs, "xfs file system"),
    "lvm": (lvm, "LVM2_member"),
    "luks": (luks, "crypto_LUKS"),
    "md": (md, "linux_raid_member"),
    "vmfs": (vmfs, "VMFS_volume_member"),
    "data": (one_byte, "non-zero data at byte"),
}
