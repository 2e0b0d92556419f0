#include "store/rows.h"

#include "base/arena.h"
#include "base/error.h"
#include "store/assistants.h"
#include "store/crons.h"
#include "store/store.h"
#include "store/webhooks.h"

#include <stdlib.h>

#define TEXTS(...)                                                                     \
    {                                                                                  \
        .n = sizeof((size_t[]){ __VA_ARGS__ }) / sizeof(size_t), .at = { __VA_ARGS__ } \
    }

/* clang-format off */
#define NO_TEXT(column)
#define AT_LISTED(column) offsetof(struct job_row, column),
const struct row_texts job_texts = TEXTS(
    offsetof(struct job_row, input), JOB_FIXED(AT_LISTED, NO_TEXT)
    JOB_INDEXED(AT_LISTED, NO_TEXT) JOB_PLAIN(AT_LISTED, NO_TEXT));

#define AT(column) offsetof(struct question_row, column)
const struct row_texts question_texts = TEXTS(
    AT(id), AT(on_expiry), AT(fallback), AT(schema), AT(question), AT(context), AT(value),
    AT(answer), AT(answered_by));
#undef AT

#define AT(column) offsetof(struct thread_row, column)
const struct row_texts thread_texts = TEXTS(
    AT(id), AT(owner), AT(status), AT(metadata), AT(config), AT(interrupts), AT(error),
    AT(values));
#undef AT

#define AT(column) offsetof(struct run_row, column)
const struct row_texts run_texts = TEXTS(
    AT(assistant), AT(metadata), AT(kwargs), AT(strategy), AT(thread));
#undef AT

#define AT(column) offsetof(struct assistant_row, column)
const struct row_texts assistant_texts = TEXTS(
    AT(id), AT(owner), AT(graph), AT(name), AT(description), AT(config), AT(context),
    AT(metadata));
#undef AT

#define AT(column) offsetof(struct cron_row, column)
const struct row_texts cron_texts = TEXTS(
    AT(id), AT(owner), AT(assistant), AT(thread), AT(schedule), AT(timezone), AT(on_completed),
    AT(payload), AT(metadata));
#undef AT

#define AT(column) offsetof(struct webhook_row, column)
const struct row_texts webhook_texts = TEXTS(
    AT(id), AT(thread), AT(owner), AT(url), AT(run), AT(status), AT(error), AT(values),
    AT(state), AT(reason));
#undef AT
/* clang-format on */

bool row_copy(struct arena *mem, const struct row_texts *texts, void *row)
{
    bool ok = true;

    for (size_t i = 0; ok && i < texts->n; i++) {
        struct str *text = row_text(texts, row, i);

        ok = arena_copy(mem, *text, text);
    }
    return ok;
}

static char *block_of(struct str text)
{
    char *p = malloc(text.n + 1);

    if (p != NULL) {
        str_copy(p, text);
        p[text.n] = '\0';
    }
    return p;
}

int row_own(const struct row_texts *texts, void *row)
{
    int err = 0;

    for (size_t i = 0; i < texts->n; i++) {
        struct str *text = row_text(texts, row, i);

        if (text->p == NULL)
            continue;
        text->p = err == 0 ? block_of(*text) : NULL;
        if (text->p == NULL) {
            *text = STR_NONE;
            err = ERR_NOMEM;
        }
    }
    if (err != 0)
        row_disown(texts, row);
    return err;
}

void row_disown(const struct row_texts *texts, void *row)
{
    for (size_t i = 0; i < texts->n; i++) {
        struct str *text = row_text(texts, row, i);

        free((char *)(uintptr_t)text->p);
        *text = STR_NONE;
    }
}
