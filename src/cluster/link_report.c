#include "cluster/link_report.h"

#include <stdio.h>
#include <string.h>

enum {
    DOWN_MS = 1000,  /* one that is made again sooner is not worth a line */
    PAUSE_MS = 5000, /* between two lines about what is wrong */
};

static void tell(struct link_report *r, const char *url, const char *why, int64_t now)
{
    r->is_up = why == NULL;
    r->told_at = now;
    (void)snprintf(r->url, sizeof(r->url), "%s", url);
    (void)snprintf(r->why, sizeof(r->why), "%s", why != NULL ? why : "");
    if (r->tell != NULL)
        r->tell(r->arg, str_of(r->url), why != NULL ? str_of(r->why) : STR_NONE);
}

void link_report_up(struct link_report *r, const char *url, int64_t now)
{
    r->down_since = 0;
    if (!r->is_up || strcmp(r->url, url) != 0)
        tell(r, url, NULL, now);
}

void link_report_down(struct link_report *r, const char *url, const char *why, int64_t now)
{
    bool is_news = r->is_up || strcmp(r->why, why) != 0;
    bool is_soon = r->told_at != 0 && now - r->told_at < PAUSE_MS;

    if (r->down_since == 0)
        r->down_since = now;
    if (is_news && !is_soon && (r->is_up || now - r->down_since >= DOWN_MS))
        tell(r, url, why, now);
}

void link_report_turn(struct link_report *r)
{
    r->down_since = 0;
}
