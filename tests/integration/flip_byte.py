"""flip_byte.py PLACE OFFSET: changes one byte of a test file behind the back of the server.

PLACE is a directory with the one file of a run below it (nasmark-*/g*/f0000000), the image of a LUN
with that file in an ext4 file system, or an image that is the data.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import pathlib
import re
import subprocess
import sys


def debugfs(image, command):
    return subprocess.run(["/usr/sbin/debugfs", "-R", command, image], check=True, text=True,
                          capture_output=True).stdout


def place_in_file_system(image, offset):
    """Where in the image; None: no file system is there."""
    names = re.findall(r"/(nasmark-[0-9a-f-]+[a-z]+)/", debugfs(image, "ls -p /"))
    if not names:
        return None
    group, = re.findall(r"/(g\d+)/", debugfs(image, f"ls -p /{names[0]}"))
    blocks = debugfs(image, f"blocks /{names[0]}/{group}/f0000000").split()
    return int(blocks[offset // 4096]) * 4096 + offset % 4096


def main():
    place, offset = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    if place.is_dir():
        place, = place.glob("nasmark-*/g*/f0000000")
    elif place.name == "scratch":
        offset = place_in_file_system(place, offset)
    with open(place, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 1]))


main()
