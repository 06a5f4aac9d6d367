/* What this machine brings into a number: processor, kernel, power, and the interface that leads to
 * the NAS.
 *
 * Reads /sys and /proc only (no tool is run); what cannot be read is "unknown" or left out, never
 * guessed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NM_CLIENT_H
#define NM_CLIENT_H

#include "conditions.h"
#include "url.h"

/* Processor, memory, kernel, distribution, governor, turbo, power supply. root: "" or, for tests, a
 * directory that holds sys/ and proc/ and etc/. */
void nm_client_describe(const char *root, struct nm_conditions *set);

/* Memory of this machine; 0 = unknown. */
uint64_t nm_client_ram_bytes(void);

/* Load average and temperature; changes from trial to trial. */
void nm_client_describe_now(const char *root, struct nm_conditions *set);

/* The interface that leads to the host of url (route lookup by a connected UDP socket; nothing is
 * sent), its speed, duplex, MTU, driver, whether it is wireless, bonding. Nothing for local
 * targets. */
void nm_client_describe_link(const char *root, const struct nm_url *url, struct nm_conditions *set);

/* The same for an interface by name. */
void nm_client_describe_interface(const char *root, const char *name, struct nm_conditions *set);

/* What limits the result before it is measured, one sentence each: slow or half-duplex link, Wi-Fi,
 * power saving, battery. Calls say() for each. */
void nm_client_complain(const struct nm_conditions *set,
                        void (*say)(void *context, const char *text), void *context);

#endif
