#include "transport/mux_command.h"

#include "base/error.h"
#include "jobs/job.h"

static int read_modes(const yyjson_val *modes, uint32_t *ret, struct error *err)
{
    if (json_is_null(modes))
        return 0;
    if (str_absent(json_text(modes)))
        return error_set(err, ERR_TYPE, "\"modes\" must be a text with commas");
    return mode_list(json_text(modes), ret, err);
}

static int read_format(const yyjson_val *root, struct stream_format *ret, struct error *err)
{
    const yyjson_val *dialect = json_at(root, "dialect");
    const yyjson_val *subgraphs = json_at(root, "subgraphs");

    if (!json_is_null(dialect))
        ret->dialect = dialect_find(json_text(dialect));
    if (ret->dialect == NULL)
        return error_set(err, ERR_TYPE, "there is no such dialect: see /v1/dialects");
    if (!json_is_null(subgraphs) && !yyjson_is_bool((yyjson_val *)subgraphs))
        return error_set(err, ERR_TYPE, "\"subgraphs\" must be true or false");
    if (!json_is_null(subgraphs))
        ret->variant.subgraphs = yyjson_is_true((yyjson_val *)subgraphs);
    return read_modes(json_at(root, "modes"), &ret->variant.modes, err);
}

static int read_place(const yyjson_val *root, struct cursor *ret, struct error *err)
{
    const yyjson_val *after = json_at(root, "after");
    bool is_text = json_is_null(after) || !str_absent(json_text(after));

    if (!is_text || cursor_read(json_text(after), ret) != 0)
        return error_set(err, ERR_TYPE, "\"after\" must be an id such as \"57\" or \"57.1\"");
    return 0;
}

static int read_subject(const yyjson_val *root, struct mux_command *ret, struct error *err)
{
    struct str topic = json_text(json_at(root, "topic"));

    ret->job = json_text(json_at(root, "job"));
    ret->is_system = str_is(topic, "system");
    if (ret->is_system == (ret->job.n > 0))
        return error_set(err, ERR_TYPE, "either \"job\" or \"topic\":\"system\" must be given");
    if (!ret->is_system && !job_id_valid(ret->job))
        return error_set(err, ERR_TYPE, "\"job\" must be the id of a job");
    return 0;
}

int mux_command_read(struct json_reader *reader,
                     struct str text,
                     struct mux_command *ret,
                     struct str *ret_job,
                     struct error *err)
{
    struct json j;

    *ret_job = STR_NONE;
    int read = json_read(reader, text, &j, NULL);
    if (read == ERR_NOMEM)
        return error_set(err, read, "out of memory");
    if (read != 0 || !yyjson_is_obj(j.root))
        return error_set(err, ERR_SYNTAX, "a message must be a JSON object");
    struct str type = json_text(json_at(j.root, "type"));
    if (!str_is(type, "subscribe") && !str_is(type, "unsubscribe"))
        return error_set(err, ERR_TYPE, "\"type\" must be subscribe or unsubscribe");
    ret->kind = str_is(type, "subscribe") ? MUX_COMMAND_SUBSCRIBE : MUX_COMMAND_UNSUBSCRIBE;
    int code = read_subject(j.root, ret, err);
    if (code == 0)
        *ret_job = ret->job.n > 0 ? ret->job : STR_NONE;
    if (code == 0 && ret->kind == MUX_COMMAND_SUBSCRIBE)
        code = read_format(j.root, &ret->format, err);
    return code == 0 ? read_place(j.root, &ret->after, err) : code;
}
