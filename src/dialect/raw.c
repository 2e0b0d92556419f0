/* `raw`: the record itself.
 *
 * One frame for every record, named after its kind.  The constant part of the run is
 * written into it, so that it stands alone; the variant `stored` leaves that out and
 * gives the bytes of the journal. */
#include "dialect/aiq.h"
#include "dialect/dialect.h"

static void on_any(const struct record *rec, struct frames *out)
{
    struct buf *b = frames_begin(out, str_of(record_kind_name(rec->kind)), MODE_ANY);

    if (b == NULL)
        return;
    if (out->variant->stored)
        record_encode(rec, b);
    else
        record_encode_alone(rec, b);
    frames_end(out);
}

const struct dialect dialect_raw = {
    .name = "raw",
    .about = "the stored records themselves",
    .names_itself = true,
    .on = {
        [REC_JOB_START] = on_any,
        [REC_JOB_END] = on_any,
        [REC_JOB_ERROR] = on_any,
        [REC_JOB_CANCELLED] = on_any,
        [REC_JOB_CANCEL_REQUESTED] = on_any,
        [REC_JOB_UPDATE] = on_any,
        [REC_JOB_INTERRUPT] = on_any,
        [REC_JOB_PAUSED] = on_any,
        [REC_JOB_RESUMED] = on_any,
        [REC_RUN_START] = on_any,
        [REC_RUN_STREAM] = on_any,
        [REC_RUN_END] = on_any,
        [REC_RUN_INFO] = on_any,
        [REC_NODE_START] = on_any,
        [REC_NODE_END] = on_any,
        [REC_NODE_COMPLETE] = on_any,
        [REC_LLM_START] = on_any,
        [REC_LLM_DELTA] = on_any,
        [REC_LLM_END] = on_any,
        [REC_LLM_REPEAT] = on_any,
        [REC_TOOL_START] = on_any,
        [REC_TOOL_END] = on_any,
        [REC_RETRIEVER_START] = on_any,
        [REC_RETRIEVER_END] = on_any,
        [REC_STATE_VALUES] = on_any,
        [REC_STATE_UPDATES] = on_any,
        [REC_STATE_TASKS] = on_any,
        [REC_STATE_CHECKPOINTS] = on_any,
        [REC_STATE_DEBUG] = on_any,
        [REC_STATE_TOOLS] = on_any,
        [REC_MESSAGE] = on_any,
        [REC_SECTION_END] = on_any,
        [REC_ARTIFACT] = on_any,
        [REC_CUSTOM] = on_any,
        [REC_PROGRESS] = on_any,
    },
    .connection = {
        [FRAME_HEARTBEAT] = aiq_put_heartbeat,
        [FRAME_SHUTDOWN] = aiq_put_shutdown,
    },
};
