/* Every condition there is: name, unit, class, and what explains a difference (conditions.h).
 *
 * How a row is classed: something that a user or a negotiation sets and that moves the number is a
 * key. What merely belongs to the thing compared (its identity, its version) is implied by it. What
 * changes from minute to minute is informational.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "conditions.h"

/* Whatever is behind the target differs when any of these is compared. */
#define THE_TARGET (NM_FACTOR_NAS | NM_FACTOR_FIRMWARE | NM_FACTOR_VOLUME | NM_FACTOR_PROTOCOL)

#define KEY(n, u, by, text)                                                                        \
    {                                                                                              \
        .name = n, .unit = u, .class = NM_CONDITION_KEY, .implied_by = by, .help = text            \
    }
#define IMPLIED(n, u, by, text)                                                                    \
    {                                                                                              \
        .name = n, .unit = u, .class = NM_CONDITION_IMPLIED, .implied_by = by, .help = text        \
    }
#define INFO(n, u, text)                                                                           \
    {                                                                                              \
        .name = n, .unit = u, .class = NM_CONDITION_INFO, .help = text                             \
    }

const struct nm_condition_def nm_condition_table[] = {
    /* what the plan asked for */
    KEY("data", "", 0, "what the bytes look like: random, zero, compressible"),
    KEY("flush", "", NM_FACTOR_PROTOCOL, "when data are on stable storage: end, file, ack, none"),
    KEY("verify", "", 0, "what was checked: none, size, full"),
    KEY("direct", "", NM_FACTOR_PROTOCOL, "the client's page cache was bypassed"),
    KEY("cached", "", NM_FACTOR_PROTOCOL,
        "reads may come from the client's memory: no, dropped (emptied before reading), unknown, "
        "yes"),
    KEY("buffered", "", NM_FACTOR_PROTOCOL, "through the client's page cache on purpose"),
    KEY("depth", "", 0, "requests in flight per stream"),
    KEY("streams", "", 0, "files or blocks moved at the same time"),
    KEY("block_bytes", "B", NM_FACTOR_PROTOCOL, "size of one request"),
    KEY("order", "", 0, "passes or grouped: whether the trials of a cell lie far apart"),
    KEY("evict_bytes", "B", 0, "read between phases to push data out of the NAS cache"),
    KEY("prepare", "", 0, "command run before phases that read back"),
    KEY("source", "", 0, "where uploaded data came from: memory or a directory"),
    KEY("destination", "", 0, "where downloaded data went: memory or a directory"),
    KEY("files_per_directory", "", 0, "files in one directory at most"),
    KEY("workload.options", "", 0, "options of the workload that are not the defaults"),
    KEY("workload.size", "B", 0, "amount of data that is worked on"),
    INFO("workload.of", "", "workload that the profile is made of"),
    INFO("keep", "", "files stay on the target"),
    INFO("pause_ns", "ns", "pause between trials"),
    INFO("timeout_ns", "ns", "longest wait for one operation"),

    /* the client */
    KEY("client.cpu", "", NM_FACTOR_CLIENT, "processor model"),
    KEY("client.link_mbit", "Mbit/s", NM_FACTOR_CLIENT, "speed of the link"),
    KEY("client.duplex", "", NM_FACTOR_CLIENT, "duplex of the link"),
    KEY("client.mtu", "B", NM_FACTOR_CLIENT, "MTU of the interface"),
    KEY("client.wifi", "", NM_FACTOR_CLIENT, "the interface is wireless"),
    INFO("client.cpus", "", "processors online"),
    INFO("client.ram_bytes", "B", "memory of the client"),
    INFO("client.host", "", "host name of the client"),
    INFO("client.os", "", "distribution"),
    INFO("client.kernel", "", "kernel release"),
    INFO("client.governor", "", "frequency governor"),
    INFO("client.turbo", "", "turbo frequencies allowed"),
    INFO("client.power", "", "mains or battery"),
    INFO("client.load", "", "load average before the trial"),
    INFO("client.temperature_c", "C", "processor temperature before the trial"),
    INFO("client.nic", "", "interface that leads to the NAS"),
    INFO("client.driver", "", "driver of the interface"),
    INFO("client.path_mtu", "B", "MTU of the path"),
    INFO("client.bond_mode", "", "bonding mode; one flow uses one slave"),
    INFO("client.bond_slaves", "", "slaves of the bond with their speeds"),
    INFO("client.note", "", "[client] note"),
    INFO("client.switch", "", "[client] switch"),
    INFO("client.cable", "", "[client] cable"),

    /* programs */
    INFO("program.version", "", "version of nasmark"),
    INFO("lib.smbclient", "", "version of libsmbclient"),
    INFO("lib.nfs", "", "version of libnfs"),
    INFO("lib.iscsi", "", "version of libiscsi"),
    INFO("lib.ext2fs", "", "version of libext2fs"),
    INFO("lib.uring", "", "version of liburing"),
    INFO("lib.curl", "", "version of libcurl"),

    /* the target, whatever the protocol */
    IMPLIED("server.identity", "", THE_TARGET, "what is behind the target"),
    IMPLIED("server.version", "", THE_TARGET, "what the server says it is"),
    INFO("server.warning", "", "what the user should know about this session"),
    INFO("server.load", "", "another run was active on the target"),
    INFO("free_bytes", "B", "free space before the trial"),
    INFO("total_bytes", "B", "size of the volume"),

    /* smb */
    KEY("smb.dialect", "", NM_FACTOR_PROTOCOL, "negotiated dialect"),
    KEY("smb.signing", "", NM_FACTOR_PROTOCOL, "messages are signed"),
    KEY("smb.encryption", "", NM_FACTOR_PROTOCOL, "messages are encrypted"),
    KEY("smb.cipher", "", NM_FACTOR_PROTOCOL, "cipher of the encryption"),
    KEY("smb.lanes", "", NM_FACTOR_PROTOCOL, "connections that share one file"),
    KEY("smb.request_bytes", "B", THE_TARGET, "largest READ or WRITE on the wire"),
    IMPLIED("smb.server", "", THE_TARGET, "GUID of the server"),
    INFO("smb.session", "", "user, guest, anonymous; guest-fallback: the user was not known"),
    INFO("smb.clock_skew_ms", "ms", "server's clock less ours"),

    /* nfs */
    KEY("nfs.version", "", NM_FACTOR_PROTOCOL, "protocol version"),
    KEY("nfs.rsize", "B", NM_FACTOR_PROTOCOL, "largest READ"),
    KEY("nfs.wsize", "B", NM_FACTOR_PROTOCOL, "largest WRITE"),
    KEY("nfs.connections", "", NM_FACTOR_PROTOCOL, "connections per stream"),
    INFO("nfs.block", "B", "size of one request on the wire"),
    INFO("nfs.version_reason", "", "why NFSv4 was chosen where no version was asked for"),
    IMPLIED("nfs.export", "", THE_TARGET, "export that holds the target"),
    IMPLIED("nfs.fsid", "", THE_TARGET, "file system behind the export"),
    INFO("nfs.delays", "",
         "answers that said \"try again later\" while connecting; later ones are the metric "
         "repeats"),
    INFO("nfs.reconnects", "", "idle connections that the server had closed"),
    INFO("nfs.uid", "", "user id sent"),
    INFO("nfs.gid", "", "group id sent"),

    /* iscsi and the file system on the LUN */
    KEY("fs", "", NM_FACTOR_PROTOCOL, "what is on the LUN: raw or a file system"),
    KEY("iscsi.block_bytes", "B", NM_FACTOR_PROTOCOL | NM_FACTOR_VOLUME, "logical block"),
    KEY("iscsi.max_transfer", "B", NM_FACTOR_PROTOCOL, "largest command"),
    KEY("iscsi.request_bytes", "B", NM_FACTOR_PROTOCOL, "command size in use"),
    KEY("iscsi.segment_bytes", "B", NM_FACTOR_PROTOCOL, "negotiated data segment"),
    KEY("iscsi.sessions", "", NM_FACTOR_PROTOCOL, "sessions per stream"),
    KEY("iscsi.header_digest", "", NM_FACTOR_PROTOCOL, "header digest"),
    KEY("iscsi.data_digest", "", NM_FACTOR_PROTOCOL, "data digest"),
    IMPLIED("iscsi.product", "", THE_TARGET, "vendor, product and revision of the LUN"),
    IMPLIED("iscsi.identity", "", THE_TARGET, "serial number or NAA of the LUN"),
    IMPLIED("iscsi.provisioning", "", THE_TARGET, "thin or thick LUN"),
    IMPLIED("iscsi.write_cache", "", THE_TARGET, "write cache of the LUN"),
    INFO("iscsi.portal", "", "portal that was really used"),
    INFO("iscsi.chap", "", "authentication: none, one-way, mutual"),
    INFO("iscsi.capacity", "B", "capacity of the LUN"),
    INFO("iscsi.retries", "",
         "commands repeated after BUSY or UNIT ATTENTION while connecting; later ones are the "
         "metric repeats"),
    KEY("lunfs.block_bytes", "B", NM_FACTOR_PROTOCOL | NM_FACTOR_VOLUME, "its block"),
    INFO("lunfs.mkfs_ns", "ns", "time to make the file system"),

    /* local paths and devices */
    KEY("local.fs", "", NM_FACTOR_PROTOCOL | NM_FACTOR_VOLUME, "file system type"),
    IMPLIED("local.mount_source", "", THE_TARGET, "what is mounted there"),
    IMPLIED("local.mount_options", "", THE_TARGET, "mount options"),
    IMPLIED("local.system_disk", "", THE_TARGET, "on the disk that this system runs from"),
    INFO("local.direct_reason", "", "why the page cache was not bypassed"),
    INFO("local.engine_reason", "", "why io_uring was not used"),
    IMPLIED("local.device", "", THE_TARGET, "block device"),
    KEY("io_engine", "", NM_FACTOR_PROTOCOL, "how requests are issued"),

    /* http */
    IMPLIED("http.server", "", THE_TARGET, "server string"),

    /* the harness measuring itself */
    KEY("null.rate", "B/s", NM_FACTOR_PROTOCOL, "simulated rate"),
    KEY("null.latency_ns", "ns", NM_FACTOR_PROTOCOL, "simulated latency"),
    KEY("null.fault", "", NM_FACTOR_PROTOCOL, "simulated fault"),

    /* results of other programs and of published tables */
    KEY("import.columns", "", 0, "columns of an imported table that are no condition of ours"),
    KEY("import.size", "", 0, "amount of data, as printed"),
    KEY("import.files", "", 0, "number of files, as printed"),
    KEY("import.block", "", 0, "block or chunk, as printed"),
    KEY("import.concurrency", "", 0, "processes at the same time, as printed"),
    KEY("import.unit", "", 0, "what a printed MB/s really is where it is not 10^6 bytes"),
    INFO("import.program", "", "program and version that printed the result"),
    INFO("import.profile", "", "profile of that program"),
    INFO("import.loops", "", "repetitions behind one printed figure"),
    INFO("import.date", "", "date, as printed"),
    INFO("import.system", "", "operating system, as printed"),
    INFO("import.note", "", "remark beside the figure"),

    KEY("conditions.overflow", "", 0, "more conditions than a set holds; names one that is lost"),
};

const size_t nm_condition_table_length = sizeof(nm_condition_table) / sizeof(nm_condition_table[0]);
