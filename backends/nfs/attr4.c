/* NFSv4 attributes (attr4.h). Their values stand in a row without names, in the order of their
 * numbers; only the ones listed here are ever asked for, so each one's place is known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "attr4.h"

static const struct {
    uint8_t bit, bytes;
} known_attrs[] = {
    {FATTR4_TYPE, 4},        {FATTR4_SIZE, 8},         {FATTR4_FSID, 16},
    {FATTR4_LEASE_TIME, 4},  {FATTR4_RDATTR_ERROR, 4}, {FATTR4_FILEID, 8},
    {FATTR4_MAXREAD, 8},     {FATTR4_MAXWRITE, 8},     {FATTR4_SPACE_AVAIL, 8},
    {FATTR4_SPACE_TOTAL, 8}, {FATTR4_SPACE_USED, 8},
};

#define BIT(attr) (1u << ((attr) % 32))

static uint32_t file_attrs[2] = {
    BIT(FATTR4_TYPE) | BIT(FATTR4_SIZE) | BIT(FATTR4_FSID) | BIT(FATTR4_FILEID),
    BIT(FATTR4_SPACE_USED),
};
static uint32_t entry_attrs[2] = {
    BIT(FATTR4_TYPE) | BIT(FATTR4_SIZE) | BIT(FATTR4_FSID) | BIT(FATTR4_FILEID) |
        BIT(FATTR4_RDATTR_ERROR),
    BIT(FATTR4_SPACE_USED),
};
static uint32_t limit_attrs[2] = {
    BIT(FATTR4_LEASE_TIME) | BIT(FATTR4_MAXREAD) | BIT(FATTR4_MAXWRITE),
    BIT(FATTR4_SPACE_AVAIL) | BIT(FATTR4_SPACE_TOTAL),
};
static uint32_t mode_attr[2] = {0, BIT(FATTR4_MODE)};
static uint32_t type_attr[1] = {BIT(FATTR4_TYPE)};

static bitmap4 mask_of(uint32_t *words, unsigned n)
{
    return (bitmap4){.bitmap4_len = n, .bitmap4_val = words};
}

bitmap4 nm_nfs4_attr_of_file(void)
{
    return mask_of(file_attrs, 2);
}

bitmap4 nm_nfs4_attr_of_entry(void)
{
    return mask_of(entry_attrs, 2);
}

bitmap4 nm_nfs4_attr_of_limits(void)
{
    return mask_of(limit_attrs, 2);
}

static fattr4 one_attr(char word[4], uint32_t *mask, unsigned words, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        word[i] = (char)(value >> (24 - 8 * i));
    return (fattr4){.attrmask = mask_of(mask, words),
                    .attr_vals = {.attrlist4_len = 4, .attrlist4_val = word}};
}

fattr4 nm_nfs4_attr_mode(char word[4], uint32_t mode)
{
    return one_attr(word, mode_attr, 2, mode);
}

fattr4 nm_nfs4_attr_directory(char word[4])
{
    return one_attr(word, type_attr, 1, NF4DIR);
}

static uint64_t number(const char *data, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | (unsigned char)data[i];
    return value;
}

void nm_nfs4_attr_take(const fattr4 *in, struct nm_nfs_attr *attr, struct nm_nfs_limits *limits)
{
    const char *data = in->attr_vals.attrlist4_val;
    size_t left = in->attr_vals.attrlist4_len;
    bool fault = false;

    attr->used_bytes = UINT64_MAX;
    for (size_t i = 0; i < sizeof(known_attrs) / sizeof(known_attrs[0]); i++) {
        unsigned bit = known_attrs[i].bit, bytes = known_attrs[i].bytes;

        if (bit / 32 >= in->attrmask.bitmap4_len ||
            !(in->attrmask.bitmap4_val[bit / 32] & BIT(bit)))
            continue;
        if (left < bytes)
            return;
        switch (bit) {
        case FATTR4_TYPE:
            attr->type = (uint32_t)number(data, 4);
            attr->valid = true;
            break;
        case FATTR4_SIZE: attr->size_bytes = number(data, 8); break;
        case FATTR4_FSID:
            attr->fsid_major = number(data, 8);
            attr->fsid_minor = number(data + 8, 8);
            break;
        case FATTR4_LEASE_TIME: limits->lease_s = (uint32_t)number(data, 4); break;
        case FATTR4_RDATTR_ERROR: fault = number(data, 4) != 0; break;
        case FATTR4_FILEID: attr->fileid = number(data, 8); break;
        case FATTR4_MAXREAD: limits->read_bytes = number(data, 8); break;
        case FATTR4_MAXWRITE: limits->write_bytes = number(data, 8); break;
        case FATTR4_SPACE_AVAIL: limits->avail_bytes = number(data, 8); break;
        case FATTR4_SPACE_TOTAL: limits->total_bytes = number(data, 8); break;
        case FATTR4_SPACE_USED: attr->used_bytes = number(data, 8); break;
        }
        data += bytes;
        left -= bytes;
    }
    if (fault)
        attr->valid = false;
}
