/* The live view: cards of agents that are at work, above them what is over, below a line that
 * says how far it is.
 *
 *     frames ─▶ take ─▶ cards, counts         ticks ─▶ signals, size, clock
 *                            └──────▶ draw ◀─────────────┘
 *
 * A picture is drawn at most every DRAW_MS, so a fast job costs no more than a slow one; a
 * tick draws what was left.  Signals are blocked and looked at by the tick: a handler would
 * need a variable of the whole program. */
#define _GNU_SOURCE /* sigtimedwait, strcasestr */
#include "cli/live.h"

#include "base/error.h"
#include "base/json.h"
#include "base/visible.h"
#include "cli/card.h"
#include "cli/client.h"
#include "cli/fill.h"
#include "cli/moment.h"
#include "cli/prompt.h"
#include "cli/question.h"
#include "cli/screen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DRAW_MS = 50, TICK_MS = 100, MAX_NOTE = 256, INDENT = 2 };

/* What the marks are made of; the second set for terminals without UTF-8. */
struct marks {
    const char *done, *bad, *asks, *tool, *gives, *node, *more, *between;
    const char *spin[8];
    size_t n_spin;
};

static const struct marks marks_utf8 = {
    "✔ ",   "✘ ",  "? ",
    "  ⚙ ", " → ", "· ",
    "…",    " · ", { "⠋ ", "⠙ ", "⠹ ", "⠼ ", "⠴ ", "⠦ ", "⠧ ", "⠏ " },
    8,
};
static const struct marks marks_ascii = {
    "+ ", "! ", "? ", "  > ", " -> ", ". ", "...", ", ", { "| ", "/ ", "- ", "\\ " }, 4,
};

struct live {
    struct screen screen;
    const struct marks *marks;
    struct json_reader reader;
    struct card *cards;   /* owned; open ones, the oldest first */
    struct card *speaker; /* whose token came last; one of those, or NULL */
    struct buf line;      /* the one being made */
    char job[CARD_MAX_NAME];
    char note[MAX_NOTE];     /* what is wrong with the connection; "" for nothing */
    char question[MAX_NOTE]; /* "" for none */
    struct prompt *prompt;   /* owned; NULL: nobody types */
    uint64_t n_tokens, n_tools, n_nodes;
    int64_t step;
    int64_t began_ms, drawn_ms, first_token_ms;
    bool ended;
    sigset_t signals, before;
    int signal; /* that said to stop; 0: none */
};

/* --- cards ----------------------------------------------------------------------------------
 */

static struct card **place_of(struct live *l, struct str id)
{
    struct card **at = &l->cards;

    while (*at != NULL && !str_eq(str_of((*at)->id), str_head(id, CARD_MAX_NAME - 1)))
        at = &(*at)->next;
    return at;
}

/* The card of that id; one that we have not seen begin is made. */
static struct card *card_of(struct live *l, const yyjson_val *data, struct str name)
{
    struct str id = json_text(json_at(data, "agent_id"));
    struct card **at = place_of(l, id);

    if (*at == NULL)
        *at = card_new(id, name.n > 0 ? name : STR("agent"), moment_now());
    return *at;
}

/* --- lines that stay ------------------------------------------------------------------------
 */

struct stay {
    struct live *live;
    enum term_style style;
};

static void stay_line(void *arg, struct str line)
{
    const struct stay *s = arg;

    screen_line(&s->live->screen, line.n > 0 ? STR("  ") : STR(""), STYLE_PLAIN, line,
                s->style);
}

static unsigned text_columns(const struct live *l)
{
    unsigned width = l->screen.term->width;

    return width > INDENT + 1 ? width - INDENT - 1 : 1;
}

/* As much of @text as fits into @columns, with a mark when it is not all. */
static void put_cut(const struct live *l, struct str text, unsigned columns, struct buf *out)
{
    struct str more = str_of(l->marks->more);
    bool all = term_columns(text) <= columns;
    unsigned room = columns > term_columns(more) ? columns - term_columns(more) : 0;

    buf_str(out, all ? text : term_head(text, room));
    if (!all)
        buf_str(out, more);
}

/* "grep {…} → found": what it gives is of more interest than what it was asked. */
static void put_tool(struct live *l, const struct card_tool *t)
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

static void keep_tool(struct live *l, const struct card_tool *t)
{
    put_tool(l, t);
    screen_line(&l->screen, str_of(l->marks->tool), t->bad ? STYLE_RED : STYLE_BLUE,
                buf_text(&l->line), STYLE_DIM);
}

static void keep_sections(struct live *l, const struct card *c)
{
    struct stay s = { l, STYLE_PLAIN };

    for (size_t i = 0; i < c->n_sections; i++) {
        const struct card_section *section = &c->sections[i];

        if (section->text.n == 0)
            continue;
        if (section->name[0] != '\0')
            screen_line(&l->screen, STR("  "), STYLE_PLAIN, str_of(section->name), STYLE_BOLD);
        fill(buf_text(&section->text), text_columns(l), stay_line, &s);
    }
}

/* A card that is over: all of it. */
static void keep_card(struct live *l, const struct card *c, struct str status, int64_t ms)
{
    bool bad = status.n > 0 && !str_is(status, "ok");

    buf_clear(&l->line);
    buf_str(&l->line, str_of(c->name));
    buf_char(&l->line, ' ');
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

/* --- frames ---------------------------------------------------------------------------------
 */

static void on_done(struct live *l, const yyjson_val *data)
{
    struct card **at = place_of(l, json_text(json_at(data, "agent_id"))), *c = *at;

    if (c == NULL)
        return;
    keep_card(l, c, json_text(json_at(data, "status")),
              json_int(json_at(data, "elapsed_ms"), moment_now() - c->began_ms));
    *at = c->next;
    if (l->speaker == c)
        l->speaker = NULL;
    card_free(c);
}

static void on_node(struct live *l, const yyjson_val *data)
{
    l->n_nodes++;
    l->step = json_int(json_at(data, "step"), l->step);
}

static void put_note(char *out, struct str text)
{
    struct buf b;

    buf_init(&b, 4 * MAX_NOTE);
    visible_put(&b, str_head(text, MAX_NOTE));
    (void)snprintf(out, MAX_NOTE, "%.*s", STR_ARG(term_head(buf_text(&b), MAX_NOTE / 4)));
    buf_done(&b);
}

/* "1  staging" */
static void keep_choices(struct live *l, const yyjson_val *choices)
{
    size_t i, n;
    yyjson_val *choice;

    yyjson_arr_foreach((yyjson_val *)(uintptr_t)choices, i, n, choice)
    {
        buf_clear(&l->line);
        buf_lit(&l->line, "  ");
        buf_u64(&l->line, i + 1);
        buf_lit(&l->line, "  ");
        if (str_absent(json_text(choice)))
            json_put_value(&l->line, choice);
        else
            visible_put(&l->line, json_text(choice));
        screen_line(&l->screen, STR(""), STYLE_PLAIN, buf_text(&l->line), STYLE_YELLOW);
    }
}

static void on_told(void *arg, bool is_good, struct str text)
{
    struct live *l = arg;

    screen_line(&l->screen, str_of(is_good ? l->marks->done : l->marks->bad),
                is_good ? STYLE_GREEN : STYLE_RED, text, STYLE_PLAIN);
}

static void on_question(struct live *l, const yyjson_val *data)
{
    struct str question = json_text(json_at(data, "question"));
    struct str value = json_text(json_at(data, "value"));
    struct stay s = { l, STYLE_YELLOW };

    if (question.n == 0)
        question = value.n > 0 ? value : STR("(a question without a text)");
    put_note(l->question, question);
    buf_clear(&l->line);
    visible_put_lines(&l->line, question);
    screen_line(&l->screen, str_of(l->marks->asks), STYLE_YELLOW, STR("the job asks"),
                STYLE_BOLD);
    fill(buf_text(&l->line), text_columns(l), stay_line, &s);
    keep_choices(l, question_choices(data));
    if (l->prompt != NULL)
        prompt_ask(l->prompt, data);
}

static void on_resumed(struct live *l)
{
    l->question[0] = '\0';
    if (l->prompt != NULL)
        prompt_clear(l->prompt);
}

/* "1 token", "2 tokens" */
static void put_number(struct buf *out, uint64_t n, const char *what)
{
    buf_u64(out, n);
    buf_char(out, ' ');
    buf_str(out, str_of(what));
    if (n != 1)
        buf_char(out, 's');
}

static void on_end(struct live *l, const yyjson_val *data, bool good)
{
    struct str error = json_text(json_at(data, "error"));
    struct str status = json_text(json_at(data, "status"));
    struct stay s = { l, STYLE_RED };

    l->ended = true;
    on_resumed(l);
    buf_clear(&l->line);
    buf_str(&l->line, good           ? STR("succeeded")
                      : status.n > 0 ? STR("cancelled")
                                     : STR("failed"));
    buf_lit(&l->line, " (");
    put_number(&l->line, l->n_tokens, "token");
    buf_lit(&l->line, ", ");
    put_number(&l->line, l->n_tools, "tool call");
    buf_char(&l->line, ')');
    screen_line(&l->screen, str_of(good ? l->marks->done : l->marks->bad),
                good ? STYLE_GREEN : STYLE_RED, buf_text(&l->line), STYLE_BOLD);
    buf_clear(&l->line);
    visible_put_lines(&l->line, error);
    fill(buf_text(&l->line), text_columns(l), stay_line, &s);
}

static void on_token(struct live *l, const yyjson_val *data)
{
    struct card *c = card_of(l, data, STR_NONE);

    if (l->n_tokens++ == 0)
        l->first_token_ms = moment_now();
    l->speaker = c;
    if (c != NULL)
        card_say(c, STR(""), json_text(json_at(data, "token")));
}

/* It came as a token of its card just before; now it is known to be of a section. */
static void on_output(struct live *l, const yyjson_val *data)
{
    struct str section = json_text(json_at(data, "section"));

    if (l->speaker != NULL && section.n > 0)
        card_move(l->speaker, section, json_text(json_at(data, "token")));
}

static void take(struct live *l, struct str type, const yyjson_val *data)
{
    struct str tool = json_text(json_at(data, "tool_name"));
    struct card *c;

    if (str_is(type, "agent.token")) {
        on_token(l, data);
    } else if (str_is(type, "output.token")) {
        on_output(l, data);
    } else if (str_is(type, "agent.spawned")) {
        (void)card_of(l, data, json_text(json_at(data, "agent_name"))); /* or it is not shown */
    } else if (str_is(type, "agent.tool_call")) {
        l->n_tools++;
        if ((c = card_of(l, data, STR_NONE)) != NULL)
            card_call(c, tool, json_text(json_at(data, "input_preview")));
    } else if (str_is(type, "agent.tool_result")) {
        if ((c = card_of(l, data, STR_NONE)) != NULL)
            card_result(c, tool, json_text(json_at(data, "result_summary")),
                        json_text(json_at(data, "status")).n > 0);
    } else if (str_is(type, "agent.done")) {
        on_done(l, data);
    } else if (str_is(type, "graph.node_complete")) {
        on_node(l, data);
    } else if (str_is(type, "graph.interrupt")) {
        on_question(l, data);
    } else if (str_is(type, "graph.resumed")) {
        on_resumed(l);
    } else if (str_is(type, "job.done") || str_is(type, "job.failed")) {
        on_end(l, data, str_is(type, "job.done"));
    }
}

/* --- live lines -----------------------------------------------------------------------------
 */

static struct str spinner(const struct live *l, int64_t now)
{
    return str_of(l->marks->spin[(size_t)(now / TICK_MS) % l->marks->n_spin]);
}

static void draw_head(struct live *l, const struct card *c, int64_t now)
{
    buf_clear(&l->line);
    buf_str(&l->line, str_of(c->name));
    buf_char(&l->line, ' ');
    moment_put_span(&l->line, now - c->began_ms);
    screen_live(&l->screen, spinner(l, now), STYLE_CYAN, buf_text(&l->line), STYLE_BOLD);
}

/* The tool that it called last, if any. */
static size_t draw_tool(struct live *l, const struct card *c, size_t room)
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
static size_t draw_section(struct live *l, const struct card_section *section, size_t room)
{
    struct fill_last last;

    buf_clear(&l->line);
    buf_lit(&l->line, "  ");
    if (section->name[0] != '\0') {
        buf_str(&l->line, term_head(str_of(section->name), text_columns(l) / 3));
        buf_lit(&l->line, ": ");
    }
    unsigned label = term_columns(buf_text(&l->line)) - INDENT, all = text_columns(l);
    fill_last(buf_text(&section->text), all > label ? all - label : 1, room, &last);
    for (size_t i = 0; i < last.n; i++)
        screen_live(&l->screen, buf_text(&l->line), STYLE_DIM, fill_last_at(&last, i),
                    STYLE_PLAIN);
    return last.n;
}

/* What the sections say, each with its share of @room lines. */
static size_t draw_words(struct live *l, const struct card *c, size_t room)
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

static void draw_cards(struct live *l, int64_t now, size_t room)
{
    size_t n = 0;

    for (struct card *c = l->cards; c != NULL; c = c->next)
        n++;
    for (struct card *c = l->cards; c != NULL && room > 0; c = c->next, n--) {
        size_t share = room / n;

        if (share == 0 || (room == 1 && n > 1)) {
            buf_clear(&l->line);
            buf_str(&l->line, str_of(l->marks->more));
            buf_lit(&l->line, " and ");
            buf_u64(&l->line, n);
            buf_lit(&l->line, " more");
            screen_live(&l->screen, STR(""), STYLE_PLAIN, buf_text(&l->line), STYLE_DIM);
            return;
        }
        draw_head(l, c, now);
        size_t used = 1 + draw_tool(l, c, share - 1);
        room -= used + draw_words(l, c, share - used);
    }
}

static void put_count(struct live *l, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    buf_str(&l->line, str_of(l->marks->between));
    put_number(&l->line, n, what);
}

static void put_rate(struct live *l, uint64_t n)
{
    buf_str(&l->line, str_of(l->marks->between));
    buf_u64(&l->line, n);
    buf_lit(&l->line, " a second");
}

static void draw_progress(struct live *l, int64_t now)
{
    int64_t spoken = now - l->first_token_ms;
    enum term_style style = STYLE_DIM;

    buf_clear(&l->line);
    if (l->note[0] != '\0') {
        buf_str(&l->line, str_of(l->note));
        style = STYLE_RED;
    } else if (l->question[0] != '\0') {
        buf_lit(&l->line, "waits for an answer: ");
        buf_str(&l->line, str_of(l->question));
        style = STYLE_YELLOW;
    } else {
        moment_put_span(&l->line, now - l->began_ms);
        put_count(l, l->n_nodes, "node");
        put_count(l, l->n_tools, "tool call");
        put_count(l, l->n_tokens, "token");
        if (l->n_tokens > 1 && spoken > 1000)
            put_rate(l, l->n_tokens * 1000 / (uint64_t)spoken);
        buf_str(&l->line, str_of(l->marks->between));
        buf_lit(&l->line, "job ");
        buf_str(&l->line, str_of(l->job));
    }
    screen_live(&l->screen, l->cards == NULL ? spinner(l, now) : STR(""), STYLE_CYAN,
                buf_text(&l->line), style);
}

/* What is typed: its end, where it does not fit. */
static void draw_prompt(struct live *l)
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

/* As somebody asks for it with Ctrl-Z: the terminal is the shell's meanwhile. */
static void stand_still(struct live *l)
{
    if (l->prompt != NULL)
        prompt_rest(l->prompt);
    (void)raise(SIGSTOP);
    screen_forget(&l->screen);
}

/* What has been sent to us since the last time. */
static void take_signals(struct live *l)
{
    static const struct timespec at_once = { 0 };
    int number;

    while ((number = sigtimedwait(&l->signals, NULL, &at_once)) > 0) {
        if (number == SIGWINCH)
            term_measure(l->screen.term);
        else if (number == SIGCONT)
            screen_forget(&l->screen); /* the shell has written below them */
        else if (number == SIGTSTP)
            stand_still(l);
        else
            l->signal = number;
    }
}

static int draw(struct live *l)
{
    int64_t now = moment_now();

    take_signals(l);
    if (!l->ended) {
        size_t below = l->prompt != NULL && prompt_open(l->prompt) > 0 ? 2 : 1;
        size_t room = screen_room(&l->screen);

        draw_cards(l, now, room > below ? room - below : 0);
        draw_progress(l, now);
        draw_prompt(l);
    }
    l->drawn_ms = now;
    return screen_show(&l->screen) == 0 ? 0 : ERR_CLOSED;
}

/* --- what the client calls ------------------------------------------------------------------
 */

static int on_frame(void *arg, const struct client_frame *frame)
{
    struct live *l = arg;
    struct json json;

    if (json_read(&l->reader, frame->data, &json, NULL) != 0)
        return 0; /* not ours to judge */
    take(l, json_text(json_at(json.root, "type")), json.root);
    return l->line.error == 0 ? 0 : l->line.error;
}

static int on_rest(void *arg)
{
    struct live *l = arg;

    return l->ended || moment_now() - l->drawn_ms >= DRAW_MS ? draw(l) : 0;
}

static void on_note(void *arg, const char *why)
{
    struct live *l = arg;

    put_note(l->note, str_of(why != NULL ? why : ""));
}

static int on_tick(void *arg)
{
    struct live *l = arg;

    if (l->prompt != NULL)
        prompt_look(l->prompt);
    int err = l->ended ? 0 : draw(l);

    return l->signal != 0 ? LIVE_STOPPED : err;
}

void live_follow(struct live *l, struct client_follow *f)
{
    f->frame = on_frame;
    f->rest = on_rest;
    f->note = on_note;
    f->tick = on_tick;
    f->tick_ms = TICK_MS;
    f->arg = l;
}

/* --- life -----------------------------------------------------------------------------------
 */

/* Only somebody who says so does without. */
static bool speaks_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);

        if (value != NULL && value[0] != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return true;
}

struct live *live_new(struct term *term, struct str job, struct client *answers)
{
    static const int signals[] = {
        SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, SIGTSTP
    };
    struct live *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    screen_init(&l->screen, term);
    json_reader_init(&l->reader, SIZE_MAX / 64, 256);
    buf_init(&l->line, 64 * 1024 * 1024);
    l->marks = speaks_utf8() ? &marks_utf8 : &marks_ascii;
    l->began_ms = moment_now();
    (void)snprintf(l->job, sizeof(l->job), "%.*s", STR_ARG(job));
    if (answers != NULL)
        l->prompt = prompt_new(answers, job, on_told, l); /* or questions are only shown */
    (void)sigemptyset(&l->signals);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaddset(&l->signals, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &l->signals, &l->before);
    return l;
}

void live_free(struct live *l)
{
    if (l == NULL)
        return;
    prompt_free(l->prompt);
    (void)screen_show(&l->screen); /* whoever ends has no use for an error */
    while (l->cards != NULL) {
        struct card *c = l->cards;

        l->cards = c->next;
        card_free(c);
    }
    (void)sigprocmask(SIG_SETMASK, &l->before, NULL);
    json_reader_done(&l->reader);
    buf_done(&l->line);
    screen_done(&l->screen);
    free(l);
}

void live_die(struct live *l)
{
    int number = l->signal;

    live_free(l);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}
