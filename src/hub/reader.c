/* A reader: a position in a channel.  Inside of the window it takes bytes from the blocks;
 * behind the window its owner reads pages and reports how far it got. */
#include "hub/shared.h"
#include "hub/topic.h"

static void move_to(struct reader *r, struct block *b, size_t offset)
{
    if (b != NULL)
        b->refs++;
    block_unref(r->block);
    r->block = b;
    r->offset = offset;
}

/* Finds the position after record r->seq in the window. */
static bool locate(struct reader *r)
{
    size_t offset;
    struct block *b = window_find(&r->channel->window, r->seq, &offset);

    if (b != NULL)
        move_to(r, b, offset);
    return b != NULL;
}

/* Are there bytes after the reader's position, in its block or the next one? */
static bool more_here(struct reader *r)
{
    struct block *b = r->block;

    if (b == NULL || r->offset < b->bytes.n)
        return b != NULL;
    if (b->left || b->next == NULL)
        return false;
    move_to(r, b->next, 0);
    return r->offset < r->block->bytes.n;
}

/* At the end of the window: moves past records that gave no bytes. */
static bool at_end(struct reader *r)
{
    const struct block *b = r->block;

    if (b == NULL || b->left || b->next != NULL || b->n_marks == 0)
        return false;
    r->seq = b->marks[b->n_marks - 1].seq;
    r->done = b->marks[b->n_marks - 1].last;
    return true;
}

static enum hub_next wait_for_more(struct topic *t)
{
    if (!t->watched)
        topic_watch(t);
    return HUB_WAIT;
}

enum hub_next hub_reader_next(struct reader *r, struct str *ret)
{
    struct topic_channel *c = r->channel;

    if (r->done)
        return HUB_END;
    if (r->gone)
        return HUB_GONE;
    if (!more_here(r)) {
        if (r->has_missed) {
            r->has_missed = false;
            return HUB_BEHIND;
        }
        if (!c->window.known || r->seq >= c->window.last)
            return wait_for_more(c->topic);
        if (at_end(r))
            return r->done ? HUB_END : wait_for_more(c->topic);
        if (r->seq < c->window.base || !locate(r))
            return HUB_BEHIND;
    }
    struct block *b = r->block;
    *ret = str_make(b->bytes.p + r->offset, b->bytes.n - r->offset);
    r->offset = b->bytes.n;
    r->seq = b->marks[b->n_marks - 1].seq;
    r->done = b->marks[b->n_marks - 1].last;
    return HUB_BYTES;
}

bool hub_reader_retry(struct reader *r)
{
    struct topic *t = r->channel->topic;

    if (!hub_shared_may_lose(t->hub->shared))
        return false;
    r->has_missed = true;
    t->retries = true;
    return true;
}

void hub_reader_moved(struct reader *r,
                      int64_t key,
                      uint64_t seq,
                      enum job_state state,
                      bool ended)
{
    struct topic_channel *c = r->channel;

    r->gone |= !topic_take_key(c->topic, key);
    if (!r->gone && !c->topic->knows_state) {
        c->topic->knows_state = true;
        c->topic->state = (uint8_t)state;
    }
    r->key = key;
    move_to(r, NULL, 0);
    r->seq = seq;
    r->done = ended;
    if (r->gone)
        return;
    if (!c->window.known)
        window_reset(&c->window, seq);
    /* At the end of the window it holds a block, so that it also gets frames without a
     * record. */
    if (seq == c->window.last && (c->window.tail != NULL || window_open(&c->window, 1) != NULL))
        move_to(r, c->window.tail, c->window.tail->bytes.n);
}

const struct stream_format *hub_reader_format(const struct reader *r)
{
    return &r->channel->format;
}

struct str hub_reader_job(const struct reader *r)
{
    return str_make(r->channel->topic->job, r->channel->topic->job_n);
}

bool hub_reader_runs(const struct reader *r, int64_t *attempt)
{
    const struct topic *t = r->channel->topic;

    *attempt = t->attempt;
    return t->knows_state && t->state == JOB_RUNNING;
}
