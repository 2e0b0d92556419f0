#include "redis/shard_news.h"

#include "journal/journal.h"

#include <stdlib.h>

struct told_shard {
    struct journal_request renew, warning;
    bool owes_warning;
};

struct shard_news {
    struct journal *journal; /* borrowed */
    int64_t n;
    struct told_shard shards[];
};

static void on_renewed(struct loop_call *call)
{
    (void)call;
}

static void on_warned(struct loop_call *call)
{
    struct told_shard *s = call->owner;

    s->owes_warning = s->warning.code == ERR_BUSY;
}

int shard_news_new(struct journal *journal,
                   struct mailbox *box,
                   int64_t n_shards,
                   struct shard_news **ret)
{
    struct shard_news *all =
        calloc(1, sizeof(*all) + (size_t)n_shards * sizeof(all->shards[0]));

    if (all == NULL)
        return ERR_NOMEM;
    all->journal = journal;
    all->n = n_shards;
    for (int64_t i = 0; i < n_shards; i++) {
        journal_request_init(&all->shards[i].renew, box, &all->shards[i], on_renewed);
        journal_request_init(&all->shards[i].warning, box, &all->shards[i], on_warned);
    }
    *ret = all;
    return 0;
}

void shard_news_free(struct shard_news *all)
{
    for (int64_t i = 0; all != NULL && i < all->n; i++) {
        journal_request_done(&all->shards[i].renew);
        journal_request_done(&all->shards[i].warning);
    }
    free(all);
}

/* Without a job, it is about all that are fed. */
static void tell(struct shard_news *all, struct journal_request *req, int64_t shard)
{
    if (req->loop_call.is_pending)
        return;
    (void)journal_request_begin(req, JOURNAL_FEED);
    req->feed.was_deaf = req == &all->shards[shard].warning;
    req->is_pinned = true;
    req->shard = shard;
    req->is_forwarded = true; /* another gateway that writes it finds out by itself */
    journal_post(all->journal, req);
}

void shard_news_owe(struct shard_news *all, uint64_t shards)
{
    for (int64_t i = 0; i < all->n; i++)
        all->shards[i].owes_warning |= (shards >> i & 1) != 0;
}

void shard_news_warn(struct shard_news *all, uint64_t shards)
{
    for (int64_t i = 0; i < all->n; i++)
        if ((shards >> i & 1) != 0 && all->shards[i].owes_warning)
            tell(all, &all->shards[i].warning, i);
}

void shard_news_renew(struct shard_news *all, uint64_t shards)
{
    for (int64_t i = 0; i < all->n; i++)
        if ((shards >> i & 1) != 0)
            tell(all, &all->shards[i].renew, i);
}

bool shard_news_is_busy(const struct shard_news *all)
{
    for (int64_t i = 0; i < all->n; i++)
        if (all->shards[i].renew.loop_call.is_pending ||
            all->shards[i].warning.loop_call.is_pending)
            return true;
    return false;
}
