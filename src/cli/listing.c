/* Lines for programs are written as the pages come; rows for people at the end, when it is
 * known how wide they are. */
#include "cli/listing.h"

#include "base/calendar.h"
#include "base/clock.h"
#include "terminal/moment.h"

#include <stdio.h>

enum { PAGE = 1000, MAX_OUT = 256 * 1024 * 1024 };

/* --- cells ----------------------------------------------------------------------- */

static enum term_style put_span(yyjson_val *moment, int sign, struct buf *text)
{
    int64_t ms;

    if (calendar_parse(json_text(moment), &ms))
        moment_put_span(text, sign * (ms - clock_wall_ms()));
    return STYLE_PLAIN;
}

enum term_style column_since(void *arg, yyjson_val *item, yyjson_val *value, struct buf *text)
{
    (void)arg, (void)item;
    return put_span(value, -1, text);
}

enum term_style column_until(void *arg, yyjson_val *item, yyjson_val *value, struct buf *text)
{
    (void)arg, (void)item;
    return put_span(value, 1, text);
}

enum term_style column_state(void *arg, yyjson_val *item, yyjson_val *value, struct buf *text)
{
    (void)arg, (void)item;
    buf_str(text, json_text(value));
    return term_state_style(json_text(value));
}

static void put_cell(struct grid *g, const struct column *c, void *arg, yyjson_val *item)
{
    yyjson_val *value = c->key != NULL ? json_get(item, str_of(c->key)) : NULL;
    enum term_style style = c->style;
    struct buf text LOCAL_BUF(MAX_OUT);

    if (c->put != NULL)
        style = c->put(arg, item, value, &text);
    else if (yyjson_is_str(value))
        buf_str(&text, json_text(value));
    else if (!json_is_null(value))
        json_put_value(&text, value);
    grid_cell(g, buf_text(&text), style);
}

static void put_row(struct grid *g, const struct column *columns, void *arg, yyjson_val *item)
{
    for (; columns->title != NULL; columns++)
        put_cell(g, columns, arg, item);
}

static void init_grid(struct grid *g, const struct column *columns)
{
    const char *titles[GRID_MAX_COLUMNS + 1] = { NULL };

    for (size_t i = 0; columns[i].title != NULL; i++)
        titles[i] = columns[i].title;
    grid_init(g, titles);
}

void listing_put(yyjson_val *list,
                 const struct column *columns,
                 bool always,
                 const struct term *term,
                 struct buf *out)
{
    struct grid g;

    if (yyjson_arr_size(list) == 0 && !always)
        return;
    init_grid(&g, columns);
    json_each(item, list)
        put_row(&g, columns, NULL, item);
    (void)grid_write(&g, term, out); /* an error is in out */
    grid_done(&g);
}

void listing_put_line(yyjson_val *item,
                      const struct column *columns,
                      bool is_id,
                      struct buf *out)
{
    if (is_id)
        buf_str(out, json_text(json_get(item, str_of(columns->key))));
    else
        json_put_value(out, item);
    buf_char(out, '\n');
}

/* --- pages ------------------------------------------------------------------------ */

static bool has_ids(const struct listing *l)
{
    return l->ids != 0 && args_have(l->args, l->ids);
}

static bool is_lines(const struct listing *l)
{
    return has_ids(l) || args_have(l->args, FLAG_JSON);
}

static void take(void *arg, yyjson_val *item)
{
    struct listing *l = arg;

    l->is_over = l->is_over || (l->wants != NULL && !l->wants(l->arg, item));
    if (l->is_over)
        return;
    l->n++;
    if (is_lines(l))
        listing_put_line(item, l->columns, has_ids(l), &l->out);
    else
        put_row(&l->grid, l->columns, l->arg, item);
}

static int flush(struct listing *l)
{
    int code = cli_write_buf(l->args->path, &l->out);

    buf_clear(&l->out);
    return code;
}

static int read_pages(struct listing *l)
{
    int code;

    do {
        int64_t left = l->limit > 0 ? l->limit - l->n : PAGE;

        code = pages_next(&l->pages, l->remote, l->args, left < PAGE ? left : PAGE, take, l);
        if (code == EXIT_OK)
            code = flush(l);
    } while (code == EXIT_OK && l->pages.next[0] != '\0' && !l->is_over &&
             (l->limit == 0 || l->n < l->limit));
    return code;
}

static int write_rows(struct listing *l, const struct term *term)
{
    (void)grid_write(&l->grid, term, &l->out); /* an error is in out */
    int code = flush(l);
    if (code == EXIT_OK && l->pages.next[0] != '\0' && !l->is_over)
        (void)fprintf(stderr, "(there are more: --all, or --limit N)\n");
    return code;
}

int listing_run(struct listing *l, const struct args *args, struct remote *remote)
{
    struct term term;

    if (!term_open(&term, l->color))
        return cli_usage_error(args->path, "--color must be auto, always or never");
    l->args = args;
    l->remote = remote;
    init_grid(&l->grid, l->columns);
    buf_init(&l->out, MAX_OUT);
    int code = remote_open(args, remote);
    if (code == EXIT_OK)
        code = read_pages(l);
    if (code == EXIT_OK && !is_lines(l))
        code = write_rows(l, &term);
    buf_done(&l->out);
    grid_done(&l->grid);
    remote_close(remote);
    return code;
}
