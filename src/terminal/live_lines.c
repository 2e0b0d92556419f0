#include "terminal/live_lines.h"

#include "base/visible.h"
#include "base/text_format.h"
#include "terminal/fill.h"
#include "terminal/moment.h"

enum { INDENT = 2 };

/* --- lines that stay --------------------------------------------------------------------- */

struct stay {
    struct live_view *live;
    enum term_style style;
};

static void stay_line(void *arg, struct str line)
{
    const struct stay *s = arg;

    screen_line(&s->live->screen, line.n > 0 ? STR("  ") : STR(""), STYLE_PLAIN, line,
                s->style);
}

static unsigned text_columns(const struct live_view *l)
{
    unsigned width = l->screen.term->width;

    return width > INDENT + 1 ? width - INDENT - 1 : 1;
}

/* As much of @text as fits into @columns, with a mark when it is not all. */
static void put_cut(const struct live_view *l,
                    struct str text,
                    unsigned columns,
                    struct buf *out)
{
    struct str more = str_of(l->marks->more);
    bool all = term_columns(text) <= columns;
    unsigned room = columns > term_columns(more) ? columns - term_columns(more) : 0;

    buf_str(out, all ? text : term_head(text, room));
    if (!all)
        buf_str(out, more);
}

/* "grep {…} → found": the result gets more room than the input. */
static void put_tool(struct live_view *l, const struct card_tool *t)
{
    struct str call = buf_text(&t->call), result = buf_text(&t->result);
    unsigned width = l->screen.term->width, mark = term_columns(str_of(l->marks->tool));
    unsigned room = width > mark + 1 ? width - mark - 1 : 1;

    buf_clear(&l->line);
    if (!t->ended) {
        put_cut(l, call, room, &l->line);
        return;
    }
    unsigned gives = term_columns(str_of(l->marks->gives)) + term_columns(result);
    put_cut(l, call, room > gives + room / 3 ? room - gives : room / 3, &l->line);
    buf_str(&l->line, str_of(l->marks->gives));
    unsigned used = term_columns(buf_text(&l->line));
    put_cut(l, result, room > used ? room - used : 1, &l->line);
}

void live_keep_text(struct live_view *l, struct str text, enum term_style style)
{
    struct stay s = { l, style };

    fill(text, text_columns(l), stay_line, &s);
}

static void keep_tool(struct live_view *l, const struct card_tool *t)
{
    put_tool(l, t);
    screen_line(&l->screen, str_of(l->marks->tool), t->bad ? STYLE_RED : STYLE_BLUE,
                buf_text(&l->line), STYLE_DIM);
}

static void keep_sections(struct live_view *l, const struct card *c)
{
    for (size_t i = 0; i < c->n_sections; i++) {
        const struct card_section *section = &c->sections[i];

        if (section->text.n == 0)
            continue;
        if (section->name[0] != '\0')
            screen_line(&l->screen, STR("  "), STYLE_PLAIN, str_of(section->name), STYLE_BOLD);
        live_keep_text(l, buf_text(&section->text), STYLE_PLAIN);
    }
}

void live_keep_card(struct live_view *l, const struct card *c, struct str status, int64_t ms)
{
    bool bad = status.n > 0 && !str_is(status, "ok");

    buf_clear(&l->line);
    text_format(&l->line, "%s ", c->name);
    moment_put_span(&l->line, ms);
    if (bad) {
        buf_char(&l->line, ' ');
        visible_put(&l->line, status);
    }
    screen_line(&l->screen, str_of(bad ? l->marks->bad : l->marks->done),
                bad ? STYLE_RED : STYLE_GREEN, buf_text(&l->line), STYLE_BOLD);
    for (size_t i = 0; i < c->n_tools; i++)
        keep_tool(l, &c->tools[i]);
    keep_sections(l, c);
}

void live_put_number(struct buf *out, uint64_t n, const char *what)
{
    text_format(out, "%d %s", n, what);
    if (n != 1)
        buf_char(out, 's');
}

/* --- while it goes on ---------------------------------------------------------------- */

static struct str spinner(const struct live_view *l, int64_t now)
{
    return str_of(l->marks->spin[(size_t)(now / LIVE_TICK_MS) % l->marks->n_spin]);
}

static void draw_head(struct live_view *l, const struct card *c, int64_t now)
{
    buf_clear(&l->line);
    text_format(&l->line, "%s ", c->name);
    moment_put_span(&l->line, now - c->began_ms);
    screen_live(&l->screen, spinner(l, now), STYLE_CYAN, buf_text(&l->line), STYLE_BOLD);
}

/* The tool that it called last, if any. */
static size_t draw_tool(struct live_view *l, const struct card *c, size_t room)
{
    if (c->n_tools == 0 || room == 0)
        return 0;
    const struct card_tool *t = &c->tools[c->n_tools - 1];
    put_tool(l, t);
    screen_live(&l->screen, str_of(l->marks->tool), t->bad ? STYLE_RED : STYLE_BLUE,
                buf_text(&l->line), STYLE_DIM);
    return 1;
}

static size_t n_spoken(const struct card *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_sections; i++)
        n += c->sections[i].text.n > 0;
    return n;
}

/* The last words of a section, in at most @room lines; how many it took. */
static size_t draw_section(struct live_view *l, const struct card_section *section, size_t room)
{
    struct fill_last last;

    buf_clear(&l->line);
    buf_lit(&l->line, "  ");
    if (section->name[0] != '\0') {
        text_format(&l->line, "%s: ", term_head(str_of(section->name), text_columns(l) / 3));
    }
    unsigned label = term_columns(buf_text(&l->line)) - INDENT, all = text_columns(l);
    fill_last(buf_text(&section->text), all > label ? all - label : 1, room, &last);
    for (size_t i = 0; i < last.n; i++)
        screen_live(&l->screen, buf_text(&l->line), STYLE_DIM, fill_last_at(&last, i),
                    STYLE_PLAIN);
    return last.n;
}

/* What the sections say, each with its share of @room lines. */
static size_t draw_words(struct live_view *l, const struct card *c, size_t room)
{
    size_t left = n_spoken(c), used = 0;

    for (size_t i = 0; i < c->n_sections && used < room; i++) {
        if (c->sections[i].text.n == 0)
            continue;
        used += draw_section(l, &c->sections[i], (room - used + left - 1) / left);
        left--;
    }
    return used;
}

static void draw_cards(struct live_view *l, int64_t now, size_t room)
{
    size_t n = 0;

    for (struct card *c = l->cards; c != NULL; c = c->next)
        n++;
    for (struct card *c = l->cards; c != NULL && room > 0; c = c->next, n--) {
        size_t share = room / n;

        if (share == 0 || (room == 1 && n > 1)) {
            buf_clear(&l->line);
            text_format(&l->line, "%s and %d more", l->marks->more, n);
            screen_live(&l->screen, STR(""), STYLE_PLAIN, buf_text(&l->line), STYLE_DIM);
            return;
        }
        draw_head(l, c, now);
        size_t used = 1 + draw_tool(l, c, share - 1);
        room -= used + draw_words(l, c, share - used);
    }
}

static void put_count(struct live_view *l, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    buf_str(&l->line, str_of(l->marks->between));
    live_put_number(&l->line, n, what);
}

static void put_rate(struct live_view *l, uint64_t n)
{
    text_format(&l->line, "%s%d a second", l->marks->between, n);
}

static void draw_progress(struct live_view *l, int64_t now)
{
    int64_t spoken = now - l->first_token_ms;
    enum term_style style = STYLE_DIM;

    buf_clear(&l->line);
    if (l->note[0] != '\0') {
        buf_str(&l->line, str_of(l->note));
        style = STYLE_RED;
    } else if (l->question[0] != '\0') {
        text_format(&l->line, "waits for an answer: %s", l->question);
        style = STYLE_YELLOW;
    } else {
        moment_put_span(&l->line, now - l->began_ms);
        put_count(l, l->n_nodes, "node");
        put_count(l, l->n_tools, "tool call");
        put_count(l, l->n_tokens, "token");
        if (l->n_tokens > 1 && spoken > 1000)
            put_rate(l, l->n_tokens * 1000 / (uint64_t)spoken);
        text_format(&l->line, "%sjob %s", l->marks->between, l->job);
    }
    screen_live(&l->screen, l->cards == NULL ? spinner(l, now) : STR(""), STYLE_CYAN,
                buf_text(&l->line), style);
}

/* What is typed: its end, where it does not fit. */
static void draw_prompt(struct live_view *l)
{
    struct str typed;

    if (l->prompt == NULL || prompt_open(l->prompt) == 0)
        return;
    buf_clear(&l->line);
    prompt_put(l->prompt, &l->line);
    typed = buf_text(&l->line);
    while (term_columns(typed) > text_columns(l))
        typed = str_skip(typed, term_head(typed, 1).n > 0 ? term_head(typed, 1).n : 1);
    screen_live(&l->screen, STR("> "), STYLE_YELLOW, typed, STYLE_PLAIN);
}

void live_draw_lines(struct live_view *l, int64_t now)
{
    size_t below = l->prompt != NULL && prompt_open(l->prompt) > 0 ? 2 : 1;
    size_t room = screen_room(&l->screen);

    draw_cards(l, now, room > below ? room - below : 0);
    draw_progress(l, now);
    draw_prompt(l);
}
