/* Any bytes as what a companion says: a filter of an authorization handler and the metadata
 * that it is asked about, or, when it is ready, its routes. */
#include "fuzz.h"

#include "auth/auth_filter.h"
#include "companion/news.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_make((const char *)data, size);
    struct str first = str_head(all, str_find(all, '\n'));
    struct str second = str_skip(all, first.n + 1);
    struct companion_news *news = NULL;

    if (!str_empty(first) && auth_filter_lets(first, second) &&
        !auth_filter_lets(STR("{}"), second))
        abort(); /* {} lets all pass that is metadata */
    if (news_read(first, &news) == 0) {
        (void)news_has_route(news, second, false);
        (void)news_has_route(news, second, true);
        if (news->n_routes > 2 * NEWS_MAX_ROUTES)
            abort();
    }
    news_free(news);
    return 0;
}
