/* A prompt: the open questions of a job, and the answer that the user types.
 *
 *     asked ──▶ keys ──▶ Enter: POST …/answer ──▶ taken, or too late: the next question
 *                 ▲                            └─ refused: the reason, and the same question
 *                 └── the terminal passes each key on, without echo
 *
 * While a question is open the terminal's echo and its line editor are off; call prompt_free
 * before the program ends, and prompt_rest before it stops.  Reading never blocks. */
#ifndef TERMINAL_PROMPT_H
#define TERMINAL_PROMPT_H

#include "base/json.h"

struct client;
struct prompt;

/* Something to tell people; it stays on the screen. */
typedef void (*prompt_tell_cb)(void *arg, bool is_good, struct str text);

/* @client is borrowed, and used by nobody else.  NULL: out of memory. */
struct prompt *prompt_new(struct client *client,
                          struct str job,
                          prompt_tell_cb tell,
                          void *arg);
void prompt_free(struct prompt *p);

/* @data is that of a graph.interrupt. */
void prompt_ask(struct prompt *p, const yyjson_val *data);
/* Drops all questions: none is open any more. */
void prompt_clear(struct prompt *p);

/* Takes the keys that were pressed since the last time; may send an answer. */
void prompt_look(struct prompt *p);
/* Restores the terminal's settings, until the next prompt_look(). */
void prompt_rest(struct prompt *p);

/* How many are open. */
size_t prompt_open(const struct prompt *p);
/* What was typed so far, fit for a terminal. */
void prompt_put(const struct prompt *p, struct buf *b);

#endif
