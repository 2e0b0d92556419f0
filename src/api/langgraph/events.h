/* Which event of LangGraph's authorization a request is, and its value; written from a request,
 * and read back into it.
 *
 *     POST /threads {"metadata": {...}}  ──▶  threads:create {"thread_id": …, "metadata": …}
 *                       the handler adds {"owner": …} ──▶ the body that our handler sees */
#ifndef API_LANGGRAPH_EVENTS_H
#define API_LANGGRAPH_EVENTS_H

#include "api/api.h"

/* What the filters of an event are applied to, before the request goes on. */
enum event_subject {
    SUBJECT_NONE,          /* or to what it finds */
    SUBJECT_THREAD,        /* of the path */
    SUBJECT_NEW_THREAD,    /* of the body, if it exists */
    SUBJECT_BODY_THREAD,   /* of the body */
    SUBJECT_THREADS,       /* all of the body's list */
    SUBJECT_RUN,           /* the thread of the path's run */
    SUBJECT_ASSISTANT,     /* of the path */
    SUBJECT_NEW_ASSISTANT, /* of the body, if it exists */
    SUBJECT_ITEM,          /* of the body */
    SUBJECT_CRON,          /* of the path */
};

enum event_form {
    FORM_PLAIN,   /* members of the body */
    FORM_RUN,     /* a RunCreate */
    FORM_BATCH,   /* a list of these */
    FORM_COMMAND, /* of the thread-scoped protocol */
    FORM_ITEM,    /* members of the body, and its namespace */
    FORM_QUERY,   /* an item named in the query */
    FORM_CRON,    /* a new cron: also an event of its thread */
    FORM_PATCH,   /* of a cron */
    FORM_CRONS,   /* a search of crons: also one of their threads */
    FORM_CALLER,  /* no event: it is enough that its caller is known */
    FORM_MCP,     /* a message of MCP: a search of assistants, or nothing but its caller */
};

struct api_event {
    const char *method, *pattern; /* of its route */
    const char *resource, *action;
    enum event_form form;
    enum event_subject subject;
    const char *members; /* of the body, that are in the value too; blanks between */
    const char *ns;      /* FORM_ITEM: what the body calls the namespace */
    const char *then;    /* a second action with the same value; NULL: none */
};

/* NULL: none. */
const struct api_event *event_of_route(const struct http_route *route);
/* That of a command over a WebSocket. */
const struct api_event *event_of_command(void);
/* That of a run which the server itself makes for a caller. */
const struct api_event *event_of_run(bool has_thread);

/* Appends the list of events.  False: the body cannot be read, and its handler may say so. */
bool event_put(const struct api_event *e, struct http_request *req, struct buf *out);
/* Appends the body with what the handlers have changed; nothing when it has no members that
 * they could change.  @results is the list of their results. */
void event_put_body(const struct api_event *e,
                    struct http_request *req,
                    const yyjson_val *results,
                    struct buf *out);
/* The assistant that a run is made with, if a client has created it; else absent. */
struct str event_assistant(const struct api_event *e,
                           struct http_request *req,
                           struct arena *mem);

#endif
