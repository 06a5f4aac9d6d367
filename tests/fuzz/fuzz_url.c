/* URLs from anybody: parsing never fails badly, what is accepted has one canonical spelling that
 * parses back, and no message holds the password.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "credentials.h"
#include "url.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* The canonical text of url is that of what it parses to. */
static void check_canonical(const struct nm_url *url)
{
    struct nm_url *again = NULL;
    char *first = nm_url_format(url), *second, *password = NULL, *host = nm_url_host_port(url);

    require(nm_url_parse(first, &again, &password, NULL) == 0 && !password);
    second = nm_url_format(again);
    require(!strcmp(first, second));
    require(*nm_url_volume_name(again) != '\0');
    nm_url_free(again);
    free(first);
    free(second);
    free(host);
}

/* "SCHEME://USER:cretXY" at the start, whatever follows, and no other cretXY. */
static int has_password(const char *text)
{
    const char *user = strstr(text, "://"), *password = strstr(text, "cretXY");

    /* A path may hold "://" too; only a word in front of it makes a URL. */
    if (!user || text + strcspn(text, ":/") != user)
        return 0;
    return password && !strstr(password + 1, "cretXY") &&
           user + 3 + strcspn(user + 3, ":/?") + 1 == password && password[-1] == ':';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size), *password = NULL;
    struct nm_url *url = NULL;
    struct nm_error err;

    if (nm_url_parse(text, &url, &password, &err) == 0) {
        check_canonical(url);
    } else {
        require(!url && !password && err.code < 0 && err.text[0]);
        require(!has_password(text) || !strstr(err.text, "cretXY"));
    }
    nm_url_free(url);
    free(password);
    free(text);
    return 0;
}
