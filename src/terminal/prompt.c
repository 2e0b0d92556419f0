#include "terminal/prompt.h"

#include "base/error.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "client/client.h"
#include "terminal/question.h"
#include "cli/remote.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

enum { MAX_ID = 256, MAX_TYPED = 64 * 1024, MAX_CHOICES = 64 * 1024, SEND_MS = 10000 };
enum { KEY_BACK = 0x08, KEY_CLEAR = 0x15, KEY_ESCAPE = 0x1B, KEY_DELETE = 0x7F };

struct prompt_question {
    struct prompt_question *next;
    char id[MAX_ID];
    struct buf choices; /* JSON list, or empty */
    bool is_text;       /* the answer must be one */
};

struct prompt {
    struct client *client; /* borrowed */
    struct buf path;       /* of the answer; terminated */
    prompt_tell_cb tell;
    void *arg;
    struct prompt_question *first; /* the one that is being answered, then the others */
    size_t n;
    struct buf typed;
    enum { PLAIN, ESCAPE, SEQUENCE } keys; /* arrows and the like are no text */
    struct termios before;
    bool is_quiet; /* the terminal's echo is off */
};

/* --- the terminal -------------------------------------------------------------------------
 */

/* Are we in the foreground?  Else another process uses the terminal. */
static bool is_ours(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void be_quiet(struct prompt *p)
{
    if (p->is_quiet || tcgetattr(STDIN_FILENO, &p->before) != 0)
        return;
    struct termios quiet = p->before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
    quiet.c_cc[VMIN] = 0; /* a read brings what there is */
    quiet.c_cc[VTIME] = 0;
    p->is_quiet = tcsetattr(STDIN_FILENO, TCSANOW, &quiet) == 0;
}

void prompt_rest(struct prompt *p)
{
    if (p->is_quiet)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &p->before); /* best effort */
    p->is_quiet = false;
}

/* --- questions ----------------------------------------------------------------------------
 */

static void asked_free(struct prompt_question *a)
{
    buf_done(&a->choices);
    free(a);
}

static void drop_first(struct prompt *p)
{
    struct prompt_question *a = p->first;

    p->first = a->next;
    p->n--;
    asked_free(a);
    buf_clear(&p->typed);
}

void prompt_clear(struct prompt *p)
{
    while (p->first != NULL)
        drop_first(p);
    prompt_rest(p);
}

void prompt_ask(struct prompt *p, const yyjson_val *data)
{
    const yyjson_val *choices = question_choices(data);
    struct prompt_question *a = calloc(1, sizeof(*a)), **at = &p->first;

    if (a == NULL)
        return; /* no memory: it is shown, and can be answered elsewhere */
    (void)snprintf(a->id, sizeof(a->id), "%.*s",
                   STR_ARG(json_text(json_at(data, "interrupt_id"))));
    buf_init(&a->choices, MAX_CHOICES);
    if (choices != NULL)
        json_put_value(&a->choices, choices);
    a->is_text = question_wants_text(data);
    while (*at != NULL)
        at = &(*at)->next;
    *at = a;
    p->n++;
}

size_t prompt_open(const struct prompt *p)
{
    return p->n;
}

/* --- sending ------------------------------------------------------------------------------
 */

/* The choice of that number, when what was typed is not itself one. */
static bool put_choice(const struct prompt_question *a, struct str typed, struct buf *b)
{
    struct json_reader reader LOCAL_READER(MAX_CHOICES, 64);
    struct json json;
    size_t i, n, number = 0;
    yyjson_val *choice;
    bool is_there = false;

    for (i = 0; i < typed.n && typed.p[i] >= '0' && typed.p[i] <= '9' && i < 4; i++)
        number = number * 10 + (size_t)(typed.p[i] - '0');
    if (a->choices.n == 0 || i < typed.n)
        return false;
    if (json_read(&reader, buf_text(&a->choices), &json, NULL) == 0) {
        yyjson_arr_foreach(json.root, i, n, choice)
        {
            struct str text = json_text(choice);

            is_there = is_there || (!str_absent(text) && str_eq(text, typed)) ||
                       (yyjson_is_num(choice) || yyjson_is_raw(choice));
        }
        choice = number > 0 ? yyjson_arr_get(json.root, number - 1) : NULL;
        if (!is_there && choice != NULL)
            json_put_value(b, choice);
    }
    return b->n > 0;
}

static void put_body(const struct prompt *p, struct buf *body)
{
    const struct prompt_question *a = p->first;
    struct str typed = buf_text(&p->typed);
    struct buf choice LOCAL_BUF(MAX_CHOICES);

    bool is_chosen = put_choice(a, typed, &choice);
    question_put_body(body, is_chosen ? buf_text(&choice) : typed, !is_chosen && a->is_text,
                      str_of(a->id));
}

static void say(struct prompt *p, bool is_good, const char *before, struct str what)
{
    struct buf b LOCAL_BUF(2 * MAX_TYPED);

    buf_str(&b, str_of(before));
    visible_put(&b, what);
    p->tell(p->arg, is_good, buf_text(&b));
}

/* Tells that the question is answered already (409, with that answer) or has expired (410). */
static void say_late(struct prompt *p, const struct client_reply *reply)
{
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 64);
    struct json json;
    struct buf first LOCAL_BUF(MAX_TYPED);

    if (json_read(&reader, buf_text(&reply->body), &json, NULL) == 0 &&
        json_at(json.root, "answer") != NULL)
        json_put_value(&first, json_at(json.root, "answer"));
    say(p, false,
        reply->status == 410 ? "it has expired" : "already answered: ", buf_text(&first));
}

static void take_reply(struct prompt *p, int err, const struct client_reply *reply)
{
    struct error why = { 0 };

    if (err != 0) {
        say(p, false, "not sent: ", str_of(client_error(p->client)));
        return;
    }
    if (reply->status >= 200 && reply->status <= 299) {
        say(p, true, "answered: ", buf_text(&p->typed));
        drop_first(p);
    } else if (reply->status == 409 || reply->status == 410) {
        say_late(p, reply);
        drop_first(p);
    } else {
        client_reply_detail(reply, &why);
        say(p, false, "", str_of(why.text));
        buf_clear(&p->typed);
    }
}

static void send_answer(struct prompt *p)
{
    struct client_reply reply LOCAL_REPLY;
    struct buf body LOCAL_BUF(2 * MAX_TYPED);

    put_body(p, &body);
    int err = body.error != 0 ? body.error
                              : client_post(p->client, p->path.p, "application/json",
                                            buf_text(&body), SEND_MS, &reply);
    take_reply(p, err, &reply);
}

/* --- keys ---------------------------------------------------------------------------------
 */

static void take_back(struct prompt *p)
{
    struct buf *t = &p->typed;

    while (t->n > 0 && ((unsigned char)t->p[t->n - 1] & 0xC0) == 0x80)
        t->n--;
    t->n -= t->n > 0;
}

static void take_key(struct prompt *p, char key)
{
    if (p->keys == ESCAPE) {
        p->keys = key == '[' || key == 'O' ? SEQUENCE : PLAIN;
    } else if (p->keys == SEQUENCE) {
        if (key >= '@' && key <= '~')
            p->keys = PLAIN;
    } else if (key == '\n' || key == '\r') {
        if (p->typed.n > 0)
            send_answer(p);
    } else if (key == KEY_BACK || key == KEY_DELETE) {
        take_back(p);
    } else if (key == KEY_CLEAR) {
        buf_clear(&p->typed);
    } else if (key == KEY_ESCAPE) {
        p->keys = ESCAPE;
    } else if ((unsigned char)key >= ' ' && p->typed.n < MAX_TYPED) {
        buf_char(&p->typed, key);
    }
}

void prompt_look(struct prompt *p)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    char keys[256];

    if (p->first == NULL || !is_ours()) {
        prompt_rest(p);
        return;
    }
    be_quiet(p);
    if (!p->is_quiet || poll(&in, 1, 0) != 1)
        return;
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
    for (ssize_t i = 0; i < n && p->first != NULL; i++)
        take_key(p, keys[i]);
    if (p->first == NULL)
        prompt_rest(p);
}

void prompt_put(const struct prompt *p, struct buf *b)
{
    struct str typed = buf_text(&p->typed);

    visible_put(b, str_head(typed, utf8_valid(typed))); /* half a character waits for its rest
                                                         */
}

/* --- life ---------------------------------------------------------------------------------
 */

struct prompt *prompt_new(struct client *client, struct str job, prompt_tell_cb tell, void *arg)
{
    struct prompt *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->client = client;
    p->tell = tell;
    p->arg = arg;
    buf_init(&p->path, REMOTE_MAX_PATH);
    buf_init(&p->typed, MAX_TYPED + 1);
    remote_job_path(&p->path, "/v1/jobs/", job, "/answer");
    if (p->path.error != 0) {
        prompt_free(p);
        return NULL;
    }
    return p;
}

void prompt_free(struct prompt *p)
{
    if (p == NULL)
        return;
    prompt_clear(p);
    buf_done(&p->path);
    buf_done(&p->typed);
    free(p);
}
