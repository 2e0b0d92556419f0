/* `spoolwire dialects`: shows a real frame of each dialect.
 *
 * The samples are rendered now, from a few lines of a recorded run, so they cannot be
 * out of date. */
#include "cli/commands.h"
#include "dialect/dialect.h"
#include "dialect/render.h"
#include "filter/filter.h"

#include "base/json_format.h"

#include <stdio.h>
#include <string.h>

/* Out of a run of a LangGraph graph (Python, astream_events v2), metadata shortened. */
static const char sample[] =
    "{\"event\":\"on_chain_start\",\"name\":\"LangGraph\",\"run_id\":\"01a1dcc6-ae52-733d-9e42-790c27ced05e\","
    "\"parent_ids\":[],\"tags\":[],\"metadata\":{\"thread_id\":\"t1\"},\"data\":{\"input\":{\"issue\":\"API "
    "returns 500\"}}}\n"
    "{\"event\":\"on_chain_start\",\"name\":\"investigator\",\"run_id\":\"01a1dcc6-ae66-7a17-8b41-2e05d4bb927c\","
    "\"parent_ids\":[\"01a1dcc6-ae52-733d-9e42-790c27ced05e\"],\"tags\":[\"graph:step:2\"],\"metadata\":{"
    "\"langgraph_step\":2,\"langgraph_node\":\"investigator\",\"langgraph_checkpoint_ns\":"
    "\"investigator:9eea7647-20e8-4c18-124b-85d10991eeb2\"},\"data\":{\"input\":{}}}\n"
    "{\"event\":\"on_chat_model_stream\",\"name\":\"ChatOpenAI\",\"run_id\":\"01a1dcc6-ae6d-70b3-8aea-3911c2a193ca\","
    "\"parent_ids\":[\"01a1dcc6-ae52-733d-9e42-790c27ced05e\",\"01a1dcc6-ae66-7a17-8b41-2e05d4bb927c\"],"
    "\"tags\":[],\"metadata\":{\"langgraph_step\":2,\"langgraph_node\":\"investigator\","
    "\"langgraph_checkpoint_ns\":\"investigator:9eea7647-20e8-4c18-124b-85d10991eeb2\",\"ls_model_name\":"
    "\"gpt-fake\"},\"data\":{\"chunk\":{\"content\":\" pool\",\"type\":\"AIMessageChunk\",\"id\":"
    "\"chatcmpl-inv-1\"}}}\n";

struct sampler {
    const struct dialect *dialect;
    enum record_kind kind;
    uint64_t seq; /* of the record that the frames are of; 0: none yet */
    struct frames frames;
};

/* ,"connection":["job.heartbeat",…]: the frames that are made for a connection. */
static void put_connection(const struct dialect *d, struct buf *out)
{
    static const struct variant variant = { .modes = MODE_DEFAULT };
    struct frames frames;

    frames_init(&frames, 4096);
    json_add_array(out, "connection");
    for (unsigned kind = 0; kind < CONNECTION_FRAME_MAX; kind++) {
        struct connection_frame what = { .kind = (enum connection_frame_kind)kind };

        if (dialect_render_connection(d, &what, &variant, &frames) != 0 || frames.n == 0)
            continue;
        json_put_str(json_next(out), frame_name(&frames, &frames.frame[0]));
    }
    json_end_array(out);
    frames_done(&frames);
}

/* {"dialect","about","names_itself","connection","sample":{"id","event","data"}} on a line; the
 * data is JSON already. */
static void show_json(const struct sampler *s)
{
    const struct frame *fr = &s->frames.frame[s->frames.n - 1];
    struct buf out LOCAL_BUF(SIZE_MAX / 4);

    json_format(&out, "{'dialect':%s,'about':%s,'names_itself':%b", s->dialect->name,
                s->dialect->about, s->dialect->names_itself);
    put_connection(s->dialect, &out);
    if (s->seq == 0)
        json_add_const(&out, "sample", "null}\n");
    else
        json_format(&out, ",'sample':{'id':'%d','event':%s,'data':%j}}\n", s->seq,
                    frame_name(&s->frames, fr), frame_data(&s->frames, fr));
    (void)fwrite(out.p, 1, out.n, stdout); /* main() checks for errors */
}

static void show_text(const struct sampler *s)
{
    const struct frame *fr = &s->frames.frame[s->frames.n - 1];

    printf("%s\n    %s\n", s->dialect->name, s->dialect->about);
    if (s->seq != 0)
        printf("    id: %llu\n    event: %.*s\n    data: %.*s\n", (unsigned long long)s->seq,
               STR_ARG(frame_name(&s->frames, fr)), STR_ARG(frame_data(&s->frames, fr)));
}

/* Keeps the frames of the first record of the kind that gives any. */
static int on_record(void *arg, const struct record *rec)
{
    static const struct variant variant = { .modes = MODE_DEFAULT };
    struct sampler *s = arg;

    if (rec->kind != s->kind || s->seq != 0)
        return 0;
    int err = dialect_render(s->dialect, rec, &variant, &s->frames);
    if (err == 0 && s->frames.n > 0)
        s->seq = rec->seq;
    return err;
}

/* What a dialect is shown by: a token's frame; else a node's, a run's or the job's. */
static enum record_kind sampled_kind(const struct dialect *d)
{
    static const enum record_kind kinds[] = { REC_LLM_DELTA, REC_NODE_START, REC_RUN_START,
                                              REC_JOB_START };
    size_t i = 0;

    while (i + 1 < sizeof(kinds) / sizeof(kinds[0]) && d->on[kinds[i]] == NULL)
        i++;
    return kinds[i];
}

static int64_t on_clock(void *arg)
{
    (void)arg;
    return 1767225600000;
}

static int on_write(void *arg, struct str bytes)
{
    (void)arg, (void)bytes;
    return 0;
}

static int show(const struct dialect *d, const struct agent *agent, bool json)
{
    struct sampler s = { .dialect = d, .kind = sampled_kind(d) };
    struct filter_options options = { .agent = agent,
                                      .dialect = d,
                                      .framing = &framing_sse,
                                      .write = on_write,
                                      .clock = on_clock,
                                      .record = on_record,
                                      .arg = &s };
    struct filter *f = NULL;

    frames_init(&s.frames, SIZE_MAX / 4);
    int err = filter_new(&options, &f);
    if (err == 0)
        err = filter_begin(f, STR("job-1"));
    if (err == 0)
        err = filter_feed(f, str_make(sample, sizeof(sample) - 1));
    filter_free(f);
    if (err == 0 && json)
        show_json(&s);
    else if (err == 0)
        show_text(&s);
    frames_done(&s.frames);
    return err;
}

static int run(const struct args *args)
{
    struct agent *agent = NULL;
    const struct dialect *d;
    bool json = args_have(args, FLAG_JSON);

    int err = agent_new(STR("sample"), &agent);
    for (size_t i = 0; err == 0 && (d = dialect_at(i)) != NULL; i++) {
        if (i > 0 && !json)
            puts("");
        err = show(d, agent, json);
    }
    agent_free(agent);
    return err == 0 ? EXIT_OK : cli_trouble(args->path, "%s", error_name(err));
}

const struct command command_dialects = {
    .name = "dialects",
    .about = "list the dialects, with a sample frame each",
    .story =
        "Lists the dialects that `spoolwire translate --to` and readers can ask for, with "
        "one real frame of each.  With --json also whether the data carries its event's name, "
        "and the events that are made for a connection.",
    .takes = COMMAND_JSON,
    .run = run,
};
