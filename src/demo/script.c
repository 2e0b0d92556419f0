/* The graph: a supervisor and the nodes that it calls.
 *
 *     supervisor ⇄ investigator ⇄ codebase_search ⇄ web_search ⇄ critic ⇄ investigator
 *                ⇄ human_input ⇄ writer
 *
 * Steps are numbered as LangGraph does: the supervisor has the odd ones.  At human_input the
 * root run ends with a question.  The answer starts a second root run, in which human_input
 * starts again and the graph goes on.  An attempt that comes with an answer first goes
 * through everything before the question with the emitter muted, so that the state is there,
 * with the ids that the first attempt gave.  So does one that goes on after a pause, up to the
 * step after which it was paused: before the question it stops between any two steps.
 *
 *     root 1: supervisor … human_input ?          root 2: human_input ! supervisor, writer
 */
#include "demo/graph.h"
#include "demo/message.h"

static void begin(struct demo_graph *g)
{
    char id[KEY_UUID_CHARS + 1];

    demo_fixed_id(&g->e, "issue", id);
    demo_put_human(&g->messages, g->e.job->issue, str_of(id));
    g->e.muted =
        g->e.job->paused_at > 0 || (g->e.job->options.question && g->e.job->resume.p != NULL &&
                                    !str_is(g->e.job->resume, "{}"));
    demo_root_start(g);
}

/* Between two steps. */
static void step_done(struct demo_graph *g)
{
    struct demo_emit *e = &g->e;

    if (e->muted && e->job->paused_at > 0 && g->step == e->job->paused_at) {
        e->muted = false;
        demo_root_start(g);
    } else if (!e->muted && demo_going(e) && g->answer.p == NULL &&
               e->sink->is_to_rest(e->sink)) {
        demo_root_end(g);
        if (demo_going(e))
            e->outcome = DEMO_PAUSED;
    }
}

static void send_to(struct demo_graph *g, const char *node, bool sends)
{
    demo_supervisor(g, node, sends);
    step_done(g);
}

static void investigate(struct demo_graph *g)
{
    bool sends = g->e.job->options.fan_out > 1;

    send_to(g, "investigator", sends);
    if (sends)
        demo_investigators(g);
    else
        demo_investigator(g, TEXT_FIRST_LOOK, 0);
    step_done(g);
}

static void play(struct demo_graph *g)
{
    begin(g);
    investigate(g);
    send_to(g, "codebase_search", false);
    demo_codebase_search(g);
    step_done(g);
    send_to(g, "web_search", false);
    demo_web_search(g);
    step_done(g);
    send_to(g, "critic", false);
    demo_critic(g);
    step_done(g);
    send_to(g, "investigator", false);
    demo_investigator(g, TEXT_SECOND_LOOK, 1);
    step_done(g);
    if (g->e.job->options.question) {
        send_to(g, "human_input", false);
        demo_human_input(g);
    }
    send_to(g, "writer", false);
    demo_writer(g);
    demo_root_end(g);
}

enum demo_outcome demo_play(const struct demo_job *job, struct demo_sink *sink)
{
    struct demo_graph g;

    demo_graph_init(&g, job, sink);
    play(&g);
    enum demo_outcome outcome = demo_graph_outcome(&g);
    demo_graph_done(&g);
    return outcome;
}
