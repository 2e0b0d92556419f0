/* Requests that the project's own HTTP app answers: see divert.c. */
#ifndef API_DIVERT_H
#define API_DIVERT_H

#include "api/api.h"

/* The secret with which the companion hands a request back, or makes one itself. */
#define DIVERT_HEADER "X-Spoolwire-Companion"
/* "1": the project's own code makes it, and needs no other credentials. */
#define DIVERT_INSIDE "X-Spoolwire-Inside"

/* For http_options. */
bool api_divert(struct http_request *req, void *app);
/* Ours alone, for workers and operators: neither the app nor the handlers are asked. */
bool divert_is_private(struct str path);
/* The app has seen it. */
bool divert_is_back(struct http_request *req);
/* It is the project's own code that asks, not a client. */
bool divert_is_inside(struct http_request *req);
/* The settings do not offer that part of LangGraph's API. */
bool divert_is_disabled(struct http_request *req);

#endif
