#include "terminal/card.h"

#include "base/utf8.h"
#include "base/visible.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_TEXT = 1024 * 1024, MAX_TOOL = 4096 };

/* Copies as much as fits, without characters that must not be shown. */
static void copy_name(char *out, struct str name)
{
    struct buf b LOCAL_BUF(4 * CARD_MAX_NAME);

    visible_put(&b, utf8_head_bytes(name, CARD_MAX_NAME - 1));
    struct str shown = utf8_head_bytes(buf_text(&b), CARD_MAX_NAME - 1);
    str_copy(out, shown);
    out[shown.n] = '\0';
}

static struct card_section *add_section(struct card *c, struct str name)
{
    struct card_section *s = &c->sections[c->n_sections++];

    copy_name(s->name, name);
    buf_init(&s->text, 2 * MAX_TEXT);
    return s;
}

struct card *card_new(struct str id, struct str name, int64_t now_ms)
{
    struct card *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    copy_name(c->id, id);
    copy_name(c->name, name);
    c->began_ms = now_ms;
    (void)add_section(c, STR(""));
    return c;
}

void card_free(struct card *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->n_sections; i++)
        buf_done(&c->sections[i].text);
    for (size_t i = 0; i < c->n_tools; i++) {
        buf_done(&c->tools[i].call);
        buf_done(&c->tools[i].result);
    }
    free(c);
}

/* The section of that name; the last section is shared when there are too many. */
static struct card_section *section_of(struct card *c, struct str name)
{
    char wanted[CARD_MAX_NAME];

    copy_name(wanted, name);
    for (size_t i = 0; i < c->n_sections; i++)
        if (strcmp(c->sections[i].name, wanted) == 0)
            return &c->sections[i];
    return c->n_sections < CARD_MAX_SECTIONS ? add_section(c, name)
                                             : &c->sections[CARD_MAX_SECTIONS - 1];
}

/* Drops the older half of what has become too long. */
static void shorten(struct buf *text)
{
    struct str rest;

    if (text->n <= MAX_TEXT)
        return;
    rest = str_skip(buf_text(text), text->n / 2);
    while (rest.n > 0 && ((unsigned char)rest.p[0] & 0xC0) == 0x80)
        rest = str_skip(rest, 1);
    memmove(text->p, rest.p, rest.n);
    buf_cut(text, rest.n);
}

/* A tab's width depends on the terminal: replace it by blanks. */
static void put_text(struct buf *out, struct str token)
{
    size_t from = out->n;

    visible_put_lines(out, token);
    for (size_t i = from; i < out->n; i++)
        if (out->p[i] == '\t')
            out->p[i] = ' ';
}

void card_say(struct card *c, struct str section, struct str token)
{
    struct buf *text = &section_of(c, section)->text;

    put_text(text, token);
    shorten(text);
}

void card_move(struct card *c, struct str section, struct str token)
{
    struct buf *plain = &c->sections[0].text, shown;

    buf_init(&shown, MAX_TEXT);
    put_text(&shown, token);
    if (str_ends(buf_text(plain), buf_text(&shown)))
        buf_cut(plain, plain->n - shown.n);
    buf_done(&shown);
    card_say(c, section, token);
}

void card_call(struct card *c, struct str tool, struct str input)
{
    if (c->n_tools == CARD_MAX_TOOLS) {
        c->n_lost++;
        return;
    }
    struct card_tool *t = &c->tools[c->n_tools++];
    copy_name(t->name, tool);
    buf_init(&t->call, MAX_TOOL);
    buf_init(&t->result, MAX_TOOL);
    buf_str(&t->call, str_of(t->name));
    buf_char(&t->call, ' ');
    visible_put(&t->call, utf8_head_bytes(input, MAX_TOOL / 4));
}

void card_result(struct card *c, struct str tool, struct str result, bool bad)
{
    char name[CARD_MAX_NAME];

    copy_name(name, tool);
    for (size_t i = 0; i < c->n_tools; i++) {
        struct card_tool *t = &c->tools[i];

        if (t->ended || strcmp(t->name, name) != 0)
            continue;
        t->ended = true;
        t->bad = bad;
        visible_put(&t->result, utf8_head_bytes(result, MAX_TOOL / 4));
        return;
    }
}
