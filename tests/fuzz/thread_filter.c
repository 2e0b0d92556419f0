/* Any bytes as a filter of a thread's events and, behind its line, as an event: what is read of
 * an event is inside of it, and a filter that is taken can be asked. */
#include "fuzz.h"

#include "base/error.h"
#include "transport/thread_filter.h"

#include <stdlib.h>

static void check_inside(struct str part, struct str whole)
{
    if (part.p != NULL && part.n > 0 &&
        (part.p < whole.p || part.p + part.n > whole.p + whole.n))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = str_make((const char *)data, size);
    struct str params = str_head(all, str_find(all, '\n'));
    struct str text = str_skip(all, params.n + 1);
    struct json_reader reader LOCAL_READER(SIZE_MAX / 64, 64);
    struct thread_filter filter;
    struct thread_line line;
    struct json json;
    struct error err = { 0 };

    bool is_event = thread_line_read(text, &line);
    if (is_event) {
        check_inside(line.id, text);
        check_inside(line.method, text);
        check_inside(line.ns, text);
        check_inside(line.name, text);
        if (line.ends_run && line.ns.n > 0)
            abort();
    }
    if (json_read(&reader, params, &json, NULL) != 0)
        return 0;
    if (thread_filter_init(&filter, json.root, &err) == 0 && is_event)
        (void)thread_filter_takes(&filter, &line);
    thread_filter_done(&filter);
    return 0;
}
