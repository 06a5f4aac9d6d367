/* What this machine brings into a number (client.h).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "client.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* First line of ROOT/PATH without the newline; false when there is none. */
static bool read_line(const char *root, char *out, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool read_line(const char *root, char *out, size_t size, const char *fmt, ...)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s", root);
    va_list ap;
    FILE *in;
    bool ok;

    va_start(ap, fmt);
    vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
    va_end(ap);
    in = fopen(path, "re");
    if (!in)
        return false;
    ok = fgets(out, (int)size, in) != NULL;
    fclose(in);
    if (ok)
        out[strcspn(out, "\n")] = '\0';
    return ok && *out;
}

/* Value behind "KEY : value" or KEY=value in ROOT/PATH. */
static bool read_value(const char *root, const char *path, const char *key, char *out, size_t size)
{
    char name[512], line[512];
    size_t length = strlen(key);
    bool found = false;
    FILE *in;

    snprintf(name, sizeof(name), "%s%s", root, path);
    in = fopen(name, "re");
    if (!in)
        return false;
    while (!found && fgets(line, sizeof(line), in)) {
        const char *at = line + length;

        if (strncmp(line, key, length) || !strchr(" \t:=", *at))
            continue;
        at += strspn(at, " \t:=\"");
        snprintf(out, size, "%s", at);
        out[strcspn(out, "\"\n")] = '\0';
        found = true;
    }
    fclose(in);
    return found;
}

static void describe_power(const char *root, struct nm_conditions *set)
{
    char path[300], online[16];
    struct dirent *entry;
    bool any = false, mains = false;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/sys/class/power_supply", root);
    dir = opendir(path);
    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        if (*entry->d_name == '.' ||
            !read_line(root, online, sizeof(online), "/sys/class/power_supply/%.64s/online",
                       entry->d_name))
            continue;
        any = true;
        mains |= !strcmp(online, "1");
    }
    closedir(dir);
    if (any)
        nm_conditions_set(set, "client.power", "%s", mains ? "mains" : "battery");
}

uint64_t nm_client_ram_bytes(void)
{
    struct sysinfo info;

    return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : 0;
}

void nm_client_describe(const char *root, struct nm_conditions *set)
{
    struct utsname name;
    uint64_t ram_bytes = nm_client_ram_bytes();
    char text[160];

    if (read_value(root, "/proc/cpuinfo", "model name", text, sizeof(text)) ||
        read_value(root, "/proc/cpuinfo", "Model", text, sizeof(text)))
        nm_conditions_set(set, "client.cpu", "%s", text);
    else
        nm_conditions_set(set, "client.cpu", "unknown");
    nm_conditions_set(set, "client.cpus", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    if (ram_bytes)
        nm_conditions_set(set, "client.ram_bytes", "%llu", (unsigned long long)ram_bytes);
    if (uname(&name) == 0) {
        nm_conditions_set(set, "client.kernel", "%s", name.release);
        nm_conditions_set(set, "client.host", "%s", name.nodename);
    }
    if (read_value(root, "/etc/os-release", "PRETTY_NAME", text, sizeof(text)))
        nm_conditions_set(set, "client.os", "%s", text);
    if (!read_line(root, text, sizeof(text),
                   "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
        snprintf(text, sizeof(text), "unknown");
    nm_conditions_set(set, "client.governor", "%s", text);
    if (read_line(root, text, sizeof(text), "/sys/devices/system/cpu/intel_pstate/no_turbo"))
        nm_conditions_set(set, "client.turbo", "%s", strcmp(text, "0") ? "no" : "yes");
    else if (read_line(root, text, sizeof(text), "/sys/devices/system/cpu/cpufreq/boost"))
        nm_conditions_set(set, "client.turbo", "%s", strcmp(text, "0") ? "yes" : "no");
    describe_power(root, set);
    nm_conditions_set(set, "program.version", "%s", NM_VERSION);
}

void nm_client_describe_now(const char *root, struct nm_conditions *set)
{
    char text[64];

    if (read_line(root, text, sizeof(text), "/proc/loadavg")) {
        text[strcspn(text, " ")] = '\0';
        nm_conditions_set(set, "client.load", "%s", text);
    }
    if (read_line(root, text, sizeof(text), "/sys/class/thermal/thermal_zone0/temp") &&
        isdigit(*text))
        nm_conditions_set(set, "client.temperature_c", "%ld", strtol(text, NULL, 10) / 1000);
}

/* Last component of the target of a symbolic link below /sys. */
static bool read_link_name(const char *root, char *out, size_t size, const char *interface,
                           const char *what)
{
    char path[300], target[512];
    ssize_t n;

    snprintf(path, sizeof(path), "%s/sys/class/net/%s/%s", root, interface, what);
    n = readlink(path, target, sizeof(target) - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');

    snprintf(out, size, "%.*s", (int)size - 1, slash ? slash + 1 : target);
    return true;
}

/* "eth0 1000, eth1 1000" */
static void describe_slaves(const char *root, const char *name, struct nm_conditions *set)
{
    char slaves[128], list[128] = "";
    char *rest = slaves;

    if (!read_line(root, slaves, sizeof(slaves), "/sys/class/net/%s/bonding/slaves", name))
        return;
    for (char *slave; (slave = strsep(&rest, " "));) {
        char speed[24] = "unknown";
        size_t used = strlen(list);

        if (!*slave)
            continue;
        read_line(root, speed, sizeof(speed), "/sys/class/net/%s/speed", slave);
        snprintf(list + used, sizeof(list) - used, "%s%s %s", used ? ", " : "", slave, speed);
    }
    nm_conditions_set(set, "client.bond_slaves", "%s", list);
}

void nm_client_describe_interface(const char *root, const char *name, struct nm_conditions *set)
{
    char text[128], path[300];

    nm_conditions_set(set, "client.nic", "%s", name);
    /* A link that is down reports -1; virtual interfaces report nothing that means anything. */
    if (read_line(root, text, sizeof(text), "/sys/class/net/%s/speed", name) && isdigit(*text))
        nm_conditions_set(set, "client.link_mbit", "%s", text);
    else
        nm_conditions_set(set, "client.link_mbit", "unknown");
    if (read_line(root, text, sizeof(text), "/sys/class/net/%s/duplex", name))
        nm_conditions_set(set, "client.duplex", "%s", text);
    if (read_line(root, text, sizeof(text), "/sys/class/net/%s/mtu", name))
        nm_conditions_set(set, "client.mtu", "%s", text);
    if (read_link_name(root, text, sizeof(text), name, "device/driver"))
        nm_conditions_set(set, "client.driver", "%s", text);
    snprintf(path, sizeof(path), "%s/sys/class/net/%s/wireless", root, name);
    nm_conditions_set(set, "client.wifi", "%s", access(path, F_OK) == 0 ? "yes" : "no");
    if (read_line(root, text, sizeof(text), "/sys/class/net/%s/bonding/mode", name)) {
        text[strcspn(text, " ")] = '\0';
        nm_conditions_set(set, "client.bond_mode", "%s", text);
        describe_slaves(root, name, set);
    }
}

/* The local address the kernel would use towards host; a UDP connect sends nothing. */
static bool local_address(const char *host, struct sockaddr_storage *ret)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list;
    socklen_t length = sizeof(*ret);
    bool ok = false;

    if (getaddrinfo(host, "9", &hints, &list))
        return false;
    int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0) {
        ok = connect(fd, list->ai_addr, list->ai_addrlen) == 0 &&
             getsockname(fd, (struct sockaddr *)ret, &length) == 0;
        close(fd);
    }
    freeaddrinfo(list);
    return ok;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    if (!a || a->sa_family != b->ss_family)
        return false;
    if (a->sa_family == AF_INET)
        return !memcmp(&((const struct sockaddr_in *)a)->sin_addr,
                       &((const struct sockaddr_in *)b)->sin_addr, sizeof(struct in_addr));
    return a->sa_family == AF_INET6 &&
           !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                   &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr));
}

void nm_client_describe_link(const char *root, const struct nm_url *url, struct nm_conditions *set)
{
    struct sockaddr_storage address;
    struct ifaddrs *list;

    if (!url->host || !local_address(url->host, &address) || getifaddrs(&list) < 0)
        return;
    for (const struct ifaddrs *at = list; at; at = at->ifa_next)
        if (same_address(at->ifa_addr, &address)) {
            nm_client_describe_interface(root, at->ifa_name, set);
            break;
        }
    freeifaddrs(list);
}

static bool equals(const struct nm_conditions *set, const char *name, const char *value)
{
    const char *have = nm_conditions_get(set, name);

    return have && !strcmp(have, value);
}

void nm_client_complain(const struct nm_conditions *set,
                        void (*say)(void *context, const char *text), void *context)
{
    const char *speed = nm_conditions_get(set, "client.link_mbit"),
               *nic = nm_conditions_get(set, "client.nic");
    long mbit = speed && isdigit(*speed) ? strtol(speed, NULL, 10) : 0;
    char text[256];

    if (mbit > 0 && mbit <= 100) {
        snprintf(text, sizeof(text),
                 "%s runs at %ld Mbit/s, at most %.1f MB/s: check cable, port and switch", nic,
                 mbit, (double)mbit / 8);
        say(context, text);
    }
    if (equals(set, "client.duplex", "half")) {
        snprintf(text, sizeof(text), "%s runs half duplex: check cable and auto-negotiation", nic);
        say(context, text);
    }
    if (equals(set, "client.wifi", "yes")) {
        snprintf(
            text, sizeof(text),
            "%s is wireless: the figures will vary; use a cable, or more trials and no verdicts",
            nic);
        say(context, text);
    }
    if (equals(set, "client.governor", "powersave") && !equals(set, "client.turbo", "yes"))
        say(context, "the processor's governor is powersave: small requests will be slower than "
                     "they need be");
    if (equals(set, "client.power", "battery"))
        say(context, "this machine runs on battery: plug it in");
}
