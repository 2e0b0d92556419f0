/* Any bytes as agents.yaml: either the agent gets settings within their bounds, or an
 * error says why not and the agent stays as it was. */
#include "fuzz.h"

#include "base/error.h"
#include "config/file/agent_file.h"
#include "ingest/agent.h"

#include <stdlib.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_set(const struct name_set *set, const struct name_set *before, bool same)
{
    check(set->n <= 256 && (set->n == 0) == (set->names == NULL));
    for (size_t i = 0; i < set->n; i++)
        check(set->names[i].n > 0 && set->names[i].n <= 200);
    if (!same)
        return;
    check(set->n == before->n && set->all_but == before->all_but);
    for (size_t i = 0; i < set->n; i++)
        check(str_eq(set->names[i], before->names[i]));
}

static void check_agent(const struct agent *a, const struct agent *before, bool same)
{
    check_set(&a->card_nodes, &before->card_nodes, same);
    check_set(&a->counted_nodes, &before->counted_nodes, same);
    check_set(&a->output_nodes, &before->output_nodes, same);
    check_set(&a->sections, &before->sections, same);
    check_set(&a->state_keys, &before->state_keys, same);
    check_set(&a->search_tools, &before->search_tools, same);
    check_set(&a->todo_tools, &before->todo_tools, same);
    check_set(&a->file_tools, &before->file_tools, same);
    check_set(&a->report_keys, &before->report_keys, same);
    check(a->input_preview >= 1 && a->input_preview <= 10000);
    check(a->result_preview >= 1 && a->result_preview <= 10000);
    check(a->output_chars >= 1 && a->output_chars <= 1000000);
    check(!same || a->input_preview == before->input_preview);
    check(!same || a->result_preview == before->result_preview);
    check(!same || a->output_chars == before->output_chars);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct agent *agent = NULL;
    struct agent *before = NULL;
    struct error error = { 0 };

    check(agent_new(STR("triage"), &agent) == 0 && agent_new(STR("triage"), &before) == 0);
    int err = agent_file_apply(str_make((const char *)data, size), "f", agent, &error);
    check(err == error.code);
    check(err == 0 || strncmp(error.text, "f: ", 3) == 0);
    check_agent(agent, before, err != 0);
    agent_free(agent);
    agent_free(before);
    return 0;
}
