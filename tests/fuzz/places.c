/* Any text as the list and as an id of a multiplexed stream, and as a message of its client: an
 * id that is taken is exactly one that would be written, and every refusal has a sentence.
 *
 * The first byte says how many places there are. */
#include "fuzz.h"

#include "base/error.h"
#include "base/utf8.h"
#include "framing/line.h"
#include "jobs/job.h"
#include "transport/mux_command.h"
#include "transport/places.h"
#include "transport/thread_join.h"

#include <stdlib.h>

enum { MAX_PLACES = 16 };

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* The list itself may be anything. */
static void try_list(struct str text)
{
    struct places p;
    struct error err = { 0 };

    if (places_init(&p, text, MAX_PLACES, &err) == 0) {
        check(p.n <= MAX_PLACES);
        for (size_t i = 0; i < p.n; i++)
            check(job_id_valid(p.jobs[i]));
    } else {
        check(err.text[0] != '\0');
    }
    places_done(&p);
}

static void try_id(struct str text, size_t n)
{
    struct str list = str_make("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", 2 * n - 1);
    struct places p;
    struct buf id, again;

    buf_init(&id, 1 << 16);
    buf_init(&again, 1 << 16);
    check(places_init(&p, list, MAX_PLACES, NULL) == 0 && p.n == n);
    places_put_id(&p, &id);
    check(places_resume(&p, buf_text(&id)) == 0);
    /* With the right mark in front, so that the rest is looked at. */
    buf_cut(&id, 8);
    buf_str(&id, text);
    if (places_resume(&p, buf_text(&id)) == 0) {
        places_put_id(&p, &again);
        check(str_eq(buf_text(&again), buf_text(&id)));
        p.mark++;
        check(places_resume(&p, buf_text(&id)) != 0);
    }
    (void)places_resume(&p, text);
    (void)line_id(text, STR("job"));
    places_done(&p);
    buf_done(&id);
    buf_done(&again);
}

static void try_order(struct str text)
{
    struct mux_command order = { .format = { .dialect = &dialect_agent } };
    struct json_reader reader;
    struct error err = { 0 };
    struct str job;

    if (utf8_valid(text) != text.n)
        return; /* ws_in lets nothing else through */
    json_reader_init(&reader, 1 << 16, 16);
    if (mux_command_read(&reader, text, &order, &job, &err) == 0) {
        check(order.is_system != job_id_valid(order.job));
        check(order.format.dialect != NULL);
    } else {
        check(err.text[0] != '\0');
    }
    check(job.p == NULL || job_id_valid(job));
    json_reader_done(&reader);
}

/* A place in a thread's runs: what is not one is the beginning. */
static void try_run_place(struct str text)
{
    struct run_place place = thread_join_place(text);

    check(place.run >= 0);
    check(place.run != 0 || (place.after.seq == 0 && !place.is_over));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    struct str text = str_make((const char *)data + 1, size - 1);
    try_list(text);
    try_id(text, 1 + data[0] % MAX_PLACES);
    try_order(text);
    try_run_place(text);
    return 0;
}
