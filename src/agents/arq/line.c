#include "agents/arq/line.h"

#include "agents/exec.h"
#include "agents/host.h"
#include "base/error.h"
#include "redis/connection.h"

#include <stdio.h>
#include <stdlib.h>

static void on_redis(void *arg, bool connected, struct str why)
{
    const struct host *host = arg;
    char text[240];

    (void)snprintf(text, sizeof(text), "spoolwire: Redis is %s%.*s",
                   connected ? "there" : "away: ", STR_ARG(str_head(why, 200)));
    host_log(host, STR_NONE, STR("arq"), str_of(text));
}

int arq_line_open(struct host *host, const struct exec_options *options, struct error *err)
{
    struct redis_options redis = {
        .url = options->redis, .name = "spoolwire-arq", .state = on_redis, .arg = host
    };
    struct arq_line *line = calloc(1, sizeof(*line));

    if (line == NULL || redis_open(host->loop, &redis, &line->redis) != 0) {
        free(line);
        return error_set(err, ERR_NOMEM, "out of memory for a connection to Redis");
    }
    host->arq = line;
    return 0;
}

static void on_line_closed(void *line)
{
    free(line);
}

void arq_line_close(struct host *host)
{
    if (host->arq != NULL)
        redis_close(host->arq->redis, on_line_closed, host->arq);
}
