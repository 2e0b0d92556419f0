/* Any bytes as what ARQ keeps of a job and of its result: the first tells the form.  What is
 * understood can be said again. */
#include "fuzz.h"

#include "agents/arq/job.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void read_result(enum arq_form form, struct str bytes)
{
    struct error err = { 0 };
    struct arq_result r;

    arq_result_init(&r);
    int code = arq_result_read(&r, form, bytes, &err);
    check((code != 0) == (err.text[0] != '\0'), "a refusal without words");
    if (code == 0 && !r.is_success)
        check(r.error_type.n > 0, "an exception without a type");
    arq_result_done(&r);
}

static void read_task(enum arq_form form, struct str bytes)
{
    static char job_id[] = "job_id", input[] = "input", named[] = "k=answer";
    char *const words[] = { job_id, input, named, NULL };
    struct arq_ending ending = { .is_success = true, .queue = STR("q"), .id = STR("i") };
    struct arq_result back;
    struct error err = { 0 };
    struct arq_task t;
    struct buf out;

    arq_task_init(&t);
    arq_result_init(&back);
    buf_init(&out, 1 << 18); /* bytes: fewer than the values that are read */
    int code = arq_task_read(&t, form, bytes, &err);
    check((code != 0) == (err.text[0] != '\0'), "a refusal without words");
    (void)arq_task_argument(&t, words, STR("answer"));
    arq_put_result(&out, form, &t, &ending);
    if (code == 0 && out.error == 0)
        check(arq_result_read(&back, form, buf_text(&out), &err) == 0 && back.is_success,
              "a result of ours is none");
    buf_done(&out);
    arq_result_done(&back);
    arq_task_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    enum arq_form form = data[0] == '{' ? ARQ_JSON : ARQ_PICKLE;
    struct str bytes = str_make((const char *)data, size);

    read_result(form, bytes);
    read_task(form, bytes);
    return 0;
}
