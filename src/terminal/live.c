/* The live view: cards of agents that are at work; above them, those that have finished; below,
 * a status line.
 *
 *     frames ─▶ take ─▶ cards, counts         ticks ─▶ signals, size, clock
 *                            └──────▶ draw ◀─────────────┘
 *
 * A picture is drawn at most every DRAW_MS, so a fast job costs no more than a slow one; a
 * tick draws what was left.  Signals are blocked and the tick polls for them: a handler would
 * need a global variable. */
#define _GNU_SOURCE /* sigtimedwait, strcasestr */
#include "terminal/live.h"

#include "base/clock.h"
#include "base/text_format.h"
#include "base/error.h"
#include "base/json.h"
#include "base/visible.h"
#include "client/client.h"
#include "terminal/live_lines.h"
#include "terminal/question.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DRAW_MS = 50 };

static const struct live_marks marks_utf8 = {
    "✔ ",   "✘ ",  "? ",
    "  ⚙ ", " → ", "· ",
    "…",    " · ", { "⠋ ", "⠙ ", "⠹ ", "⠼ ", "⠴ ", "⠦ ", "⠧ ", "⠏ " },
    8,
};
/* For terminals without UTF-8. */
static const struct live_marks marks_ascii = {
    "+ ", "! ", "? ", "  > ", " -> ", ". ", "...", ", ", { "| ", "/ ", "- ", "\\ " }, 4,
};

/* --- cards ----------------------------------------------------------------------------------
 */

static struct card **place_of(struct live_view *l, struct str id)
{
    struct card **at = &l->cards;

    while (*at != NULL && !str_eq(str_of((*at)->id), str_head(id, CARD_MAX_NAME - 1)))
        at = &(*at)->next;
    return at;
}

/* The card of that id; one that we have not seen begin is made. */
static struct card *card_of(struct live_view *l, const yyjson_val *data, struct str name)
{
    struct str id = json_text(json_at(data, "agent_id"));
    struct card **at = place_of(l, id);

    if (*at == NULL)
        *at = card_new(id, name.n > 0 ? name : STR("agent"), clock_steady_ms());
    return *at;
}

/* --- frames ---------------------------------------------------------------------------------
 */

static void on_done(struct live_view *l, const yyjson_val *data)
{
    struct card **at = place_of(l, json_text(json_at(data, "agent_id"))), *c = *at;

    if (c == NULL)
        return;
    live_keep_card(l, c, json_text(json_at(data, "status")),
                   json_int(json_at(data, "elapsed_ms"), clock_steady_ms() - c->began_ms));
    *at = c->next;
    if (l->speaker == c)
        l->speaker = NULL;
    card_free(c);
}

static void on_node(struct live_view *l, const yyjson_val *data)
{
    l->n_nodes++;
    l->step = json_int(json_at(data, "step"), l->step);
}

static void put_note(char *out, struct str text)
{
    struct buf b LOCAL_BUF(4 * LIVE_MAX_NOTE);

    visible_put(&b, str_head(text, LIVE_MAX_NOTE));
    (void)snprintf(out, LIVE_MAX_NOTE, "%.*s",
                   STR_ARG(term_head(buf_text(&b), LIVE_MAX_NOTE / 4)));
}

/* "1  staging" */
static void keep_choices(struct live_view *l, const yyjson_val *choices)
{
    size_t i, n;
    yyjson_val *choice;

    yyjson_arr_foreach((yyjson_val *)(uintptr_t)choices, i, n, choice)
    {
        buf_clear(&l->line);
        text_format(&l->line, "  %d  ", i + 1);
        if (str_absent(json_text(choice)))
            json_put_value(&l->line, choice);
        else
            visible_put(&l->line, json_text(choice));
        screen_line(&l->screen, STR(""), STYLE_PLAIN, buf_text(&l->line), STYLE_YELLOW);
    }
}

static void on_told(void *arg, bool is_good, struct str text)
{
    struct live_view *l = arg;

    screen_line(&l->screen, str_of(is_good ? l->marks->done : l->marks->bad),
                is_good ? STYLE_GREEN : STYLE_RED, text, STYLE_PLAIN);
}

static void on_question(struct live_view *l, const yyjson_val *data)
{
    struct str question = json_text(json_at(data, "question"));
    struct str value = json_text(json_at(data, "value"));

    if (question.n == 0)
        question = value.n > 0 ? value : STR("(a question without a text)");
    put_note(l->question, question);
    buf_clear(&l->line);
    visible_put_lines(&l->line, question);
    screen_line(&l->screen, str_of(l->marks->asks), STYLE_YELLOW, STR("the job asks"),
                STYLE_BOLD);
    live_keep_text(l, buf_text(&l->line), STYLE_YELLOW);
    keep_choices(l, question_choices(data));
    if (l->prompt != NULL)
        prompt_ask(l->prompt, data);
}

static void on_resumed(struct live_view *l)
{
    l->question[0] = '\0';
    if (l->prompt != NULL)
        prompt_clear(l->prompt);
}

static void on_end(struct live_view *l, const yyjson_val *data, bool good)
{
    struct str error = json_text(json_at(data, "error"));
    struct str status = json_text(json_at(data, "status"));
    struct str words = json_text(json_at(json_at(data, "details"), "stderr"));

    l->ended = true;
    on_resumed(l);
    buf_clear(&l->line);
    buf_str(&l->line, good           ? STR("succeeded")
                      : status.n > 0 ? STR("cancelled")
                                     : STR("failed"));
    buf_lit(&l->line, " (");
    live_put_number(&l->line, l->n_tokens, "token");
    buf_lit(&l->line, ", ");
    live_put_number(&l->line, l->n_tools, "tool call");
    buf_char(&l->line, ')');
    screen_line(&l->screen, str_of(good ? l->marks->done : l->marks->bad),
                good ? STYLE_GREEN : STYLE_RED, buf_text(&l->line), STYLE_BOLD);
    buf_clear(&l->line);
    visible_put_lines(&l->line, error);
    live_keep_text(l, buf_text(&l->line), STYLE_RED);
    if (words.n == 0 || str_eq(words, error))
        return;
    buf_clear(&l->line);
    visible_put_lines(&l->line, words); /* what its process said last */
    live_keep_text(l, buf_text(&l->line), STYLE_DIM);
}

static void on_token(struct live_view *l, const yyjson_val *data)
{
    struct card *c = card_of(l, data, STR_NONE);

    if (l->n_tokens++ == 0)
        l->first_token_ms = clock_steady_ms();
    l->speaker = c;
    if (c != NULL)
        card_say(c, STR(""), json_text(json_at(data, "token")));
}

/* The same token came for its card just before; this event adds its section. */
static void on_output(struct live_view *l, const yyjson_val *data)
{
    struct str section = json_text(json_at(data, "section"));

    if (l->speaker != NULL && section.n > 0)
        card_move(l->speaker, section, json_text(json_at(data, "token")));
}

static void take(struct live_view *l, struct str type, const yyjson_val *data)
{
    struct str tool = json_text(json_at(data, "tool_name"));
    struct card *c;

    if (str_is(type, "agent.token")) {
        on_token(l, data);
    } else if (str_is(type, "output.token")) {
        on_output(l, data);
    } else if (str_is(type, "agent.spawned")) {
        (void)card_of(l, data, json_text(json_at(data, "agent_name"))); /* out of memory: it is
                                                                           not shown */
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

/* --- drawing -------------------------------------------------------------------------------
 */

/* Stops the process, as Ctrl-Z does by default; the shell has the terminal until it goes on. */
static void stand_still(struct live_view *l)
{
    if (l->prompt != NULL)
        prompt_rest(l->prompt);
    (void)raise(SIGSTOP);
    screen_forget(&l->screen);
}

/* Handles the signals that came since the last tick. */
static void take_signals(struct live_view *l)
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

static int draw(struct live_view *l)
{
    int64_t now = clock_steady_ms();

    take_signals(l);
    if (!l->ended)
        live_draw_lines(l, now);
    l->drawn_ms = now;
    return screen_show(&l->screen) == 0 ? 0 : ERR_CLOSED;
}

/* --- what the client calls ------------------------------------------------------------------
 */

static int on_frame(void *arg, const struct client_frame *frame)
{
    struct live_view *l = arg;
    struct json json;

    if (json_read(&l->reader, frame->data, &json, NULL) != 0)
        return 0; /* ignore what is not JSON */
    take(l, json_text(json_at(json.root, "type")), json.root);
    return l->line.error == 0 ? 0 : l->line.error;
}

static int on_rest(void *arg)
{
    struct live_view *l = arg;

    return l->ended || clock_steady_ms() - l->drawn_ms >= DRAW_MS ? draw(l) : 0;
}

static void on_note(void *arg, const char *why)
{
    struct live_view *l = arg;

    put_note(l->note, str_of(why != NULL ? why : ""));
}

static int on_tick(void *arg)
{
    struct live_view *l = arg;

    if (l->prompt != NULL)
        prompt_look(l->prompt);
    int err = l->ended ? 0 : draw(l);

    return l->signal != 0 ? LIVE_STOPPED : err;
}

void live_follow(struct live_view *l, struct client_follow *f)
{
    f->frame = on_frame;
    f->rest = on_rest;
    f->note = on_note;
    f->tick = on_tick;
    f->tick_ms = LIVE_TICK_MS;
    f->arg = l;
}

/* --- life -----------------------------------------------------------------------------------
 */

/* Yes, unless the environment says otherwise. */
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

struct live_view *live_new(struct term *term, struct str job, struct client *answers)
{
    static const int signals[] = {
        SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, SIGTSTP
    };
    struct live_view *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    screen_init(&l->screen, term);
    json_reader_init(&l->reader, SIZE_MAX / 64, 256);
    buf_init(&l->line, 64 * 1024 * 1024);
    l->marks = speaks_utf8() ? &marks_utf8 : &marks_ascii;
    l->began_ms = clock_steady_ms();
    (void)snprintf(l->job, sizeof(l->job), "%.*s", STR_ARG(job));
    if (answers != NULL)
        l->prompt = prompt_new(answers, job, on_told, l); /* NULL: only shows questions */
    (void)sigemptyset(&l->signals);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaddset(&l->signals, signals[i]);
    (void)sigprocmask(SIG_BLOCK, &l->signals, &l->before);
    return l;
}

void live_free(struct live_view *l)
{
    if (l == NULL)
        return;
    prompt_free(l->prompt);
    (void)screen_show(&l->screen); /* errors do not matter at the end */
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

void live_die(struct live_view *l)
{
    int number = l->signal;

    live_free(l);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}
