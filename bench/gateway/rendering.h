/* Rendering stored records as a reader of `aiq` gets them, in one thread, into memory; and the
 * clocks.  For bare.c and bare_libpq.c. */
#ifndef BENCH_GATEWAY_RENDERING_H
#define BENCH_GATEWAY_RENDERING_H

#include "base/error.h"
#include "base/json.h"
#include "hub/stream_format.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_HEADS = 64 };

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *why)
{
    fprintf(stderr, "bare: %s\n", why);
    exit(2);
}

struct headers {
    struct record *at[MAX_HEADS];
    size_t n;
};

static const struct record *find_header(const struct headers *headers, uint64_t seq)
{
    for (size_t i = headers->n; i-- > 0;)
        if (headers->at[i]->seq == seq)
            return headers->at[i];
    die("a head is not there");
    return NULL;
}

/* What it takes to render records, and what came of it. */
struct rendering {
    const char *job;
    struct stream_format way;
    struct json_reader reader;
    struct headers headers;
    struct frames frames;
    struct buf out;
    size_t n_events, n_bytes;
};

static void render_line(struct rendering *r, struct str line)
{
    struct record rec;
    size_t n;

    if (record_decode(&r->reader, line, &rec, NULL) != 0)
        die("decode");
    if (rec.header_seq != 0)
        rec.header = find_header(&r->headers, rec.header_seq);
    rec.job_id = str_of(r->job);
    if (stream_format_render(&r->way, &rec, (struct cursor){ 0 }, &r->frames, &r->out, &n) != 0)
        die("render");
    if (rec.header_seq == 0 && rec.info.run.p != NULL &&
        (r->headers.n == MAX_HEADS || record_new(&rec, &r->headers.at[r->headers.n++]) != 0))
        die("too many heads");
    r->n_events++;
}

/* The records of one row, a line each. */
static void render_row(struct rendering *r, struct str row)
{
    while (row.n > 0) {
        size_t n = str_find(row, '\n');

        render_line(r, str_head(row, n));
        row = str_skip(row, n + 1);
    }
    if (r->out.n > 256 * 1024) {
        r->n_bytes += r->out.n;
        buf_clear(&r->out);
    }
}

static void rendering_init(struct rendering *r, const char *job)
{
    *r = (struct rendering){
        .job = job,
        .way = { .dialect = &dialect_aiq, .framing = framing_find(STR("sse")), .chunked = true }
    };
    json_reader_init(&r->reader, SIZE_MAX / 64, 256);
    frames_init(&r->frames, SIZE_MAX / 4);
    buf_init(&r->out, SIZE_MAX / 4);
}

static void rendering_done(struct rendering *r)
{
    for (size_t i = 0; i < r->headers.n; i++)
        record_unref(r->headers.at[i]);
    frames_done(&r->frames);
    json_reader_done(&r->reader);
    buf_done(&r->out);
}

#endif
