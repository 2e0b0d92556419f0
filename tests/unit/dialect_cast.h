/* What the tests of dialects share: a cast of runs for records to belong to, and expecting
 * frames.
 *
 * Expectations are written with ' for ", one frame a line: id, event name, payload.  Included
 * once, after cmocka.h, by a program that is one test. */
#ifndef UNIT_DIALECT_CAST_H
#define UNIT_DIALECT_CAST_H

#include "base/error.h"
#include "dialect/dialect.h"
#include "dialect/render.h"

#define TIME "2026-02-16T10:30:00.123Z"

enum { MAX_BYTES = 1 << 20 };

static const struct variant usual = { .modes = MODE_DEFAULT };
static const struct variant all_modes = { .modes = MODE_ALL };
static const struct variant all_subgraphs = { .modes = MODE_ALL, .subgraphs = true };

/* --- the records ------------------------------------------------------------- */

/* One record of each sort of run, for others to name as their head. */
struct cast {
    struct record root;
    struct record node;
    struct record inner; /* a chain inside the node */
    struct record llm;
    struct record completion;
    struct record tool;
    struct record prompt;
    struct record retriever;
    struct record part; /* of a stream mode, in a subgraph */
};

static inline struct record make(enum record_kind kind)
{
    struct record rec;

    record_init(&rec, kind);
    rec.seq = 57;
    rec.ts = INT64_C(1771237800123);
    rec.job_id = STR("job-1");
    return rec;
}

static inline struct record of(const struct record *header, enum record_kind kind)
{
    struct record rec = make(kind);

    rec.header = header;
    rec.header_seq = 3;
    return rec;
}

static inline struct record run(enum record_kind kind,
                                struct str id,
                                struct str name,
                                struct str type)
{
    struct record rec = make(kind);

    rec.info.run = id;
    rec.info.name = name;
    rec.info.type = type;
    return rec;
}

static inline struct record run_in_writer(enum record_kind kind,
                                          struct str id,
                                          struct str name,
                                          struct str type)
{
    struct record rec = run(kind, id, name, type);

    rec.info.parent = STR("run-root");
    rec.info.exec = STR("run-writer");
    rec.info.node = STR("writer");
    rec.info.ns = STR("writer:1");
    rec.info.step = 4;
    rec.info.card = true;
    return rec;
}

static inline void cast_init(struct cast *c)
{
    c->root = run(REC_RUN_START, STR("run-root"), STR("LangGraph"), STR("chain"));
    c->root.info.root = true;
    c->root.info.path = STR("chain:LangGraph");
    c->root.input = STR("{\"q\":1}");

    c->node = run_in_writer(REC_NODE_START, STR("run-writer"), STR("writer"), STR("chain"));
    c->node.info.top = true;
    c->node.info.counted = true;
    c->node.info.depth = 0;
    c->node.info.path = STR("chain:LangGraph > chain:writer");
    c->node.info.tags = STR("[\"graph:step:4\"]");
    c->node.info.meta = STR("{\"langgraph_step\":4}");
    c->node.info.parents = STR("[\"run-root\"]");
    c->node.input = STR("{\"q\":2}");

    c->inner =
        run_in_writer(REC_RUN_START, STR("run-inner"), STR("RunnableSequence"), STR("chain"));
    c->inner.input = STR("\"in\"");

    c->llm = run_in_writer(REC_LLM_START, STR("run-llm"), STR("ChatOpenAI"), STR("chat_model"));
    c->llm.info.model = STR("gpt-x");
    c->llm.info.meta = STR("{\"ls_model_name\":\"gpt-x\"}");
    c->llm.info.tags = STR("[\"t\"]");
    c->llm.input = STR("{\"messages\":[[]]}");
    c->llm.count = 2;

    c->completion = c->llm;
    c->completion.info.type = STR("llm");
    c->completion.info.exec = STR_NONE;
    c->completion.info.node = STR_NONE;

    c->tool = run_in_writer(REC_TOOL_START, STR("run-tool"), STR("grep"), STR("tool"));
    c->tool.info.path = STR("chain:LangGraph > chain:writer > tool:grep");
    c->tool.input = STR("{\"pattern\":\"x\"}");
    c->tool.preview = STR("{\"pattern\":\"x\"}");
    c->tool.call = STR("call_1");

    c->prompt = run_in_writer(REC_RUN_START, STR("run-prompt"), STR("Prompt"), STR("prompt"));
    c->retriever =
        run_in_writer(REC_RETRIEVER_START, STR("run-ret"), STR("Retriever"), STR("retriever"));
    c->retriever.input = STR("{\"query\":\"q\"}");

    c->part = make(REC_RUN_INFO);
    c->part.info.ns = STR("research:9|think:8");
}

/* --- expecting ----------------------------------------------------------------- */

static inline void put_double_quotes(struct buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        buf_char(b, *text == '\'' ? '"' : *text);
    buf_char(b, '\0');
}

static inline void put_frame(const struct frames *f, size_t i, uint64_t seq, struct buf *got)
{
    const struct frame *fr = &f->frame[i];

    buf_u64(got, seq);
    if (fr->k != f->total) {
        buf_char(got, '.');
        buf_u64(got, fr->k);
    }
    buf_char(got, ' ');
    buf_str(got, frame_name(f, fr));
    buf_char(got, ' ');
    buf_str(got, frame_data(f, fr));
    buf_char(got, '\n');
}

static inline void expect_as(const struct dialect *d,
                             const struct variant *variant,
                             const struct record *rec,
                             const char *want)
{
    struct frames f;
    struct buf got;
    struct buf wanted;

    frames_init(&f, MAX_BYTES);
    buf_init(&got, MAX_BYTES);
    buf_init(&wanted, MAX_BYTES);
    assert_int_equal(dialect_render(d, rec, variant, &f), 0);
    for (size_t i = 0; i < f.n; i++)
        put_frame(&f, i, rec->seq, &got);
    buf_char(&got, '\0');
    put_double_quotes(&wanted, want);
    assert_string_equal(got.p, wanted.p);
    buf_done(&wanted);
    buf_done(&got);
    frames_done(&f);
}

static inline void expect(const struct dialect *d, const struct record *rec, const char *want)
{
    expect_as(d, &usual, rec, want);
}

/* Of frames that are made for a connection: event name and payload. */
static inline void expect_connection(const struct dialect *d,
                                     const struct variant *variant,
                                     struct connection_frame what,
                                     const char *want)
{
    struct frames f;
    struct buf got;
    struct buf wanted;

    frames_init(&f, MAX_BYTES);
    buf_init(&got, MAX_BYTES);
    buf_init(&wanted, MAX_BYTES);
    what.ms = INT64_C(1771237800123);
    assert_int_equal(dialect_render_connection(d, &what, variant, &f), 0);
    for (size_t i = 0; i < f.n; i++) {
        buf_str(&got, frame_name(&f, &f.frame[i]));
        buf_char(&got, ' ');
        buf_str(&got, frame_data(&f, &f.frame[i]));
        buf_char(&got, '\n');
    }
    buf_char(&got, '\0');
    put_double_quotes(&wanted, want);
    assert_string_equal(got.p, wanted.p);
    buf_done(&wanted);
    buf_done(&got);
    frames_done(&f);
}

/* These kinds say nothing in @d, whatever is in them. */
static inline void expect_silent(const struct dialect *d,
                                 const enum record_kind *kinds,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_null(d->on[kinds[i]]);
}

#endif
