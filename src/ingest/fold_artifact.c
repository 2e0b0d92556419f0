/* Artifacts: what a run has made, each a record of its own.
 *
 *   todo             the input of write_todos
 *   file             the input of write_file
 *   citation_source  a URL in the result of a search tool, once per job
 *   output           a long answer of a model without tool calls
 *   citation_use     a known source's URL in such an answer, once per job
 *   output, final_report   the report in the final state, or, in a job without a root run, in
 *                          the output of the last execution
 *
 * Tool names, thresholds and keys are settings of the agent. */
#include "base/error.h"
#include "base/utf8.h"
#include "ingest/fold_state.h"

#include <strings.h>

static int emit_artifact(struct fold *f, struct run *exec, struct str title, struct str id)
{
    struct record rec;
    int err = 0;

    record_init(&rec, REC_ARTIFACT);
    rec.title = title;
    rec.id = id;
    rec.data = fold_tmp(f, &err);
    return err == 0 ? fold_emit(f, &rec, exec) : err;
}

/* Tool names are compared without regard to case. */
static bool names_tool(const struct name_set *set, struct str name)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->names[i].n == name.n && strncasecmp(set->names[i].p, name.p, name.n) == 0)
            return true;
    return false;
}

static void put_workflow(struct buf *b, const struct run *exec)
{
    if (exec == NULL)
        return;
    json_add_str(b, "workflow", exec->node);
}

/* --- todos and files --------------------------------------------------------- */

static int emit_todo(struct fold *f, struct run *exec, const yyjson_val *todos)
{
    buf_clear(&f->tmp);
    buf_lit(&f->tmp, "{" JSON_LIT("type", "todo") "," JSON_KEY("content"));
    message_flatten(&f->tmp, todos, STR_NONE);
    json_add_str(&f->tmp, "source", exec != NULL ? STR("agent") : STR("orchestrator"));
    put_workflow(&f->tmp, exec);
    json_end(&f->tmp);
    return emit_artifact(f, exec, STR_NONE, STR_NONE);
}

static int emit_file(struct fold *f, struct run *exec, const yyjson_val *input)
{
    struct str path = json_text(json_at(input, "file_path"));

    if (path.p == NULL)
        path = json_text(json_at(input, "path"));
    if (path.p == NULL)
        path = json_text(json_at(input, "filename"));
    buf_clear(&f->tmp);
    buf_lit(&f->tmp, "{" JSON_LIT("type", "file") "," JSON_KEY("content"));
    message_flatten(&f->tmp, json_at(input, "content"), STR_NONE);
    json_add_text(&f->tmp, "file_path", path);
    json_end(&f->tmp);
    return emit_artifact(f, exec, path, STR_NONE);
}

int fold_tool_artifacts(struct fold *f, struct run *run, const yyjson_val *input)
{
    struct str name = run->header->info.name;
    const yyjson_val *todos = json_at(input, "todos");

    if (todos != NULL && names_tool(&f->opt.agent->todo_tools, name))
        return emit_todo(f, run->exec, todos);
    if (json_at(input, "content") != NULL && names_tool(&f->opt.agent->file_tools, name))
        return emit_file(f, run->exec, input);
    return 0;
}

/* --- URLs -------------------------------------------------------------------- */

static bool ends_url(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f || strchr("<>\"')]}\\", c) != NULL;
}

static bool trails(char c)
{
    return strchr(".,;:!?)'\"]}>", c) != NULL;
}

/* The next URL in @*rest, which moves on behind it; absent after the last. */
static struct str next_url(struct str *rest)
{
    for (size_t at = 0; at < rest->n; at++) {
        struct str here = str_skip(*rest, at);
        size_t n = 0;

        if (here.p[0] != 'h' ||
            (!str_starts(here, STR("http://")) && !str_starts(here, STR("https://"))))
            continue;
        while (n < here.n && !ends_url(here.p[n]))
            n++;
        *rest = str_skip(here, n);
        while (n > 0 && trails(here.p[n - 1]))
            n--;
        here.n = n;
        if (n > 10 && str_find(here, '.') < n)
            return here;
        at = (size_t)-1; /* go on in what is left */
    }
    rest->n = 0;
    return STR_NONE;
}

enum { MAX_URL_BYTES = 2048 };

/* Scheme and host in lower case, without fragment and trailing slash: in work memory. */
static struct str normal_url(struct fold *f, struct str url, int *err)
{
    size_t slashes = 0;

    url = str_head(url, str_find(url, '#'));
    buf_clear(&f->tmp);
    for (size_t i = 0; i < url.n; i++) {
        char c = url.p[i];

        slashes += c == '/';
        buf_char(&f->tmp, slashes < 3 && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
    if (slashes > 3 && url.p[url.n - 1] == '/')
        f->tmp.n--;
    return fold_tmp(f, err);
}

static void put_citation(struct fold *f, struct str type, struct str url)
{
    buf_clear(&f->tmp);
    json_begin(&f->tmp);
    json_add_str(&f->tmp, "type", type);
    json_add_str(&f->tmp, "content", url);
    json_add_str(&f->tmp, "url", url);
}

int fold_sources(struct fold *f, struct run *exec, struct str tool, struct str text)
{
    struct str url;

    while ((url = next_url(&text)).p != NULL) {
        int err = 0;
        struct str normal = url.n <= MAX_URL_BYTES ? normal_url(f, url, &err) : STR_NONE;

        if (err == 0 && normal.p != NULL &&
            !fold_seen(f, table_key(&f->seen, SEEN_URL, normal))) {
            put_citation(f, STR("citation_source"), url);
            json_add_str(&f->tmp, "tool", tool);
            put_workflow(&f->tmp, exec);
            json_end(&f->tmp);
            err = emit_artifact(f, exec, url, normal);
        }
        if (err != 0)
            return err;
    }
    return 0;
}

static int cite(struct fold *f, struct run *exec, struct str text)
{
    struct str url;

    while ((url = next_url(&text)).p != NULL) {
        int err = 0;
        struct str normal = url.n <= MAX_URL_BYTES ? normal_url(f, url, &err) : STR_NONE;

        if (err == 0 && normal.p != NULL &&
            fold_seen(f, table_key(&f->seen, SEEN_URL, normal)) &&
            !fold_seen(f, table_key(&f->seen, SEEN_CITED, normal))) {
            put_citation(f, STR("citation_use"), url);
            json_end(&f->tmp);
            err = emit_artifact(f, exec, url, normal);
        }
        if (err != 0)
            return err;
    }
    return 0;
}

/* --- answers and the report -------------------------------------------------- */

/* Text such as `search("…`, which is a call that went wrong rather than an answer. */
static bool looks_like_call(struct str text)
{
    for (size_t i = 1; i + 1 < text.n; i++) {
        char before = text.p[i - 1];
        bool word = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
                    (before >= '0' && before <= '9') || before == '_';

        if (word && text.p[i] == '(' && text.p[i + 1] == '"')
            return true;
    }
    return false;
}

static bool contains(struct str text, struct str part)
{
    struct name_set one = { &part, 1, false };

    return name_set_part_of(&one, text);
}

static struct str category(const struct run *exec)
{
    if (exec == NULL || contains(exec->node, STR("orchestrator")))
        return STR("draft");
    return contains(exec->node, STR("research")) ? STR("research_notes") : STR("intermediate");
}

static void put_output(struct fold *f, struct run *exec, struct str text, struct str what)
{
    buf_clear(&f->tmp);
    json_begin(&f->tmp);
    json_add_lit(&f->tmp, "type", "output");
    json_add_str(&f->tmp, "content", text);
    json_add_str(&f->tmp, "output_category", what);
    put_workflow(&f->tmp, exec);
    json_end(&f->tmp);
}

/* Emits what put_output() has written. */
static int emit_output(struct fold *f, struct run *exec, struct str text)
{
    int err = emit_artifact(f, exec, STR_NONE, STR_NONE);

    return err == 0 ? cite(f, exec, text) : err;
}

int fold_answer_artifacts(struct fold *f, struct run *exec, const struct message *m)
{
    if (m->calls != NULL || utf8_head(m->text, f->opt.agent->output_chars).n == m->text.n ||
        looks_like_call(m->text))
        return 0;
    put_output(f, exec, m->text, category(exec));
    return emit_output(f, exec, m->text);
}

/* A string, one under a report key, the last model message, or the output itself when it is a
 * message. */
int fold_report_text(struct fold *f, const yyjson_val *output, struct str *ret)
{
    const struct name_set *keys = &f->opt.agent->report_keys;
    struct str text = json_text(output);
    struct message m;

    for (size_t i = 0; text.p == NULL && i < keys->n; i++)
        text = json_text(json_get(output, keys->names[i]));
    if (text.p == NULL) {
        yyjson_val *list = json_at(output, "messages");
        size_t n = yyjson_arr_size(list);
        const yyjson_val *last = n > 0 ? yyjson_arr_get(list, n - 1) : output;

        int err = fold_read_message(f, last, &m);
        if (err != 0)
            return err;
        if (m.cls == MESSAGE_AI)
            text = m.text;
    }
    *ret = text;
    return 0;
}

int fold_report(struct fold *f, struct str text)
{
    if (text.n == 0)
        return 0;
    put_output(f, NULL, text, STR("final_report"));
    /* The job's output is mostly what its last run has ended with. */
    return fold_is_report(f, buf_text(&f->tmp)) ? 0 : emit_output(f, NULL, text);
}

int fold_artifact_event(struct fold *f, const struct event *ev)
{
    struct record rec;
    int err = 0;

    record_init(&rec, REC_ARTIFACT);
    rec.title = ev->name;
    rec.data = fold_json(f, ev->data, true, &err);
    return err == 0 ? fold_emit(f, &rec, fold_find(f, ev->parent)) : err;
}
