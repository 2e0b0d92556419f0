/* Random sequences of events: well-formed ones in all source formats, of few ids, so that they
 * collide (support/sequence.h), held to every property of a job (support/properties.h).
 *
 * The other targets change bytes; this one changes whole events, so that each input is a job
 * that some worker might send.  The first bytes choose the agent's settings, and where
 * properties are looked at that would take too long to look at everywhere.
 *
 * With SEQUENCE_SHOW in the environment, the lines of each input are printed. */
#include "fuzz.h"

#include "support/properties.h"
#include "support/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 4, MAX_EVENTS = 48, MAX_SIZE = HEAD + MAX_EVENTS * SEQUENCE_EVENT };

static const struct setting settings[] = {
    { "as triage", { "triage", 6 }, 0 },
    { "as other", { "other", 5 }, 0 },
    { "as triage, with small fields", { "triage", 6 }, 24 },
    { "as other, with small fields", { "other", 5 }, 48 },
};

static void hold(const char *property, const char *wrong, const struct test *t)
{
    if (wrong == NULL)
        return;
    fprintf(stderr, "%.*s%s: %s (%s)\n", (int)t->in.n, t->in.bytes, property, wrong,
            t->setting->name);
    abort();
}

/* Takes over @in.  With @again, the frames of a view that we read ourselves are then a job,
 * too. */
static void check_job(struct recording in, const uint8_t *head, bool again)
{
    static const size_t read_back[] = { VIEW_AGENT, VIEW_ENVELOPE, VIEW_MESSAGES, VIEW_AIQ };
    struct test t;
    const char *wrong = test_init(&t, in, &settings[head[0] % 4]);

    t.pick = 1 + (size_t)head[1] + (size_t)head[2] * 251;
    hold("it can be played", wrong, &t);
    for (size_t i = 0; i < N_PROPERTIES; i++)
        if (!properties[i].sensible)
            hold(properties[i].name, properties[i].holds(&t), &t);
    if (again) {
        struct recording frames;

        recording_init(&frames, "its frames",
                       buf_text(&t.play.frames_of[read_back[head[3] % 4]].bytes));
        check_job(frames, head, false);
    }
    test_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording in;
    struct buf lines;

    if (size < HEAD + SEQUENCE_EVENT || size > MAX_SIZE)
        return 0;
    buf_init(&lines, SIZE_MAX / 4);
    sequence_put(&lines, str_make((const char *)data + HEAD, size - HEAD));
    if (getenv("SEQUENCE_SHOW") != NULL)
        (void)fwrite(lines.p, 1, lines.n, stdout);
    recording_init(&in, "the sequence", buf_text(&lines));
    buf_done(&lines);
    check_job(in, data, data[3] % 8 < 4);
    return 0;
}

/* --- changing events, not bytes ------------------------------------------------------- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static uint32_t roll(uint64_t *random, size_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % n);
}

static void fill(uint8_t *at, size_t n, uint64_t *random)
{
    for (size_t i = 0; i < n; i++)
        at[i] = (uint8_t)roll(random, 256);
}

static size_t new_sequence(uint8_t *data, size_t most, uint64_t *random)
{
    size_t n = 1 + roll(random, most);

    fill(data, HEAD + n * SEQUENCE_EVENT, random);
    return n;
}

/* One change to a sequence of @n events; returns how many it has then. */
static size_t change(uint8_t *event, size_t n, size_t most, uint64_t *random)
{
    uint8_t *at = event + roll(random, n) * SEQUENCE_EVENT;
    size_t behind = (size_t)(event + n * SEQUENCE_EVENT - at);
    const uint8_t *other = event + roll(random, n) * SEQUENCE_EVENT;
    uint8_t copy[SEQUENCE_EVENT];

    memcpy(copy, other, sizeof(copy));
    switch (roll(random, 6)) {
    case 0: /* a new one */
    case 1: /* the same again */
        if (n == most)
            return n;
        memmove(at + SEQUENCE_EVENT, at, behind);
        memcpy(at, copy, sizeof(copy));
        if (roll(random, 2) == 0)
            fill(at, SEQUENCE_EVENT, random);
        return n + 1;
    case 2: /* one less */
        if (n == 1)
            return n;
        memmove(at, at + SEQUENCE_EVENT, behind - SEQUENCE_EVENT);
        return n - 1;
    case 3: /* another event with these members */
        at[0] = (uint8_t)roll(random, 256);
        return n;
    case 4: /* the members of another event */
        memcpy(at + 1, copy + 1, sizeof(copy) - 1);
        return n;
    default:
        at[roll(random, SEQUENCE_EVENT)] = (uint8_t)roll(random, 256);
        return n;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    size_t limit = max_size < MAX_SIZE ? max_size : MAX_SIZE;
    uint64_t random = seed;

    if (limit < HEAD + SEQUENCE_EVENT)
        return 0;
    size_t most = (limit - HEAD) / SEQUENCE_EVENT;
    size_t n = size < HEAD ? 0 : (size - HEAD) / SEQUENCE_EVENT;

    (void)roll(&random, 1);
    if (n == 0 || n > most || roll(&random, 8) == 0)
        n = new_sequence(data, most, &random);
    for (size_t i = roll(&random, 4) + 1; i > 0; i--)
        n = change(data + HEAD, n, most, &random);
    fill(data, HEAD, &random);
    return HEAD + n * SEQUENCE_EVENT;
}
