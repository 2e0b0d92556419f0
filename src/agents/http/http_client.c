/* libcurl says which sockets it waits for, and until when; libuv waits, and reports events:
 *
 *     on_socket ──▶ uv_poll ──▶ curl_multi_socket_action ──▶ transfers that are done
 *     on_timer  ──▶ uv_timer ──▶ the same, with a time-out
 *
 * Each socket has its own poll handle, which stays in memory until libuv has closed it. */
#include "agents/http/http_client.h"

#include <stdlib.h>

struct http_client {
    CURLM *multi; /* owned */
    uv_loop_t *loop;
    uv_timer_t timer;
};

struct plug {
    uv_poll_t poll;
    struct http_client *client;
    curl_socket_t socket;
};

/* --- events ------------------------------------------------------------------ */

static void report(struct http_client *client)
{
    CURLMsg *msg;
    int left;

    while ((msg = curl_multi_info_read(client->multi, &left)) != NULL) {
        CURL *easy = msg->easy_handle;
        CURLcode code = msg->data.result; /* copied: the message is freed with its transfer */
        void *t = NULL;

        if (msg->msg != CURLMSG_DONE)
            continue;
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t); /* set by http_client_add */
        (void)curl_multi_remove_handle(client->multi, easy); /* it is there */
        ((struct http_transfer *)t)->done(t, code);
    }
}

static void act(struct http_client *client, curl_socket_t socket, int events)
{
    int running;

    (void)curl_multi_socket_action(client->multi, socket, events, &running); /* each has its own
                                                                              */
    report(client);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct plug *p = poll->data;
    int ready = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0) |
                (status < 0 ? CURL_CSELECT_ERR : 0);

    act(p->client, p->socket, ready);
}

static void on_timeout(uv_timer_t *timer)
{
    act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* --- what libcurl waits for -------------------------------------------------- */

static int on_timer(CURLM *multi, long ms, void *arg)
{
    struct http_client *client = arg;

    (void)multi;
    if (ms < 0)
        (void)uv_timer_stop(&client->timer); /* stopping cannot fail */
    else
        (void)uv_timer_start(&client->timer, on_timeout, (uint64_t)ms, 0); /* it is open */
    return 0;
}

static struct plug *plug_new(struct http_client *client, curl_socket_t socket)
{
    struct plug *p = calloc(1, sizeof(*p));

    if (p == NULL || uv_poll_init_socket(client->loop, &p->poll, socket) != 0) {
        free(p);
        return NULL;
    }
    p->poll.data = p;
    p->client = client;
    p->socket = socket;
    return p;
}

static void on_plug_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *arg, void *data)
{
    struct http_client *client = arg;
    struct plug *p = data;
    int events =
        (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (p != NULL)
            uv_close((uv_handle_t *)&p->poll, on_plug_closed);
        return 0;
    }
    if (p == NULL)
        p = plug_new(client, socket);
    if (p == NULL)
        return -1;                                     /* libcurl then fails the transfer */
    (void)curl_multi_assign(client->multi, socket, p); /* it has this socket */
    (void)uv_poll_start(&p->poll, events, on_poll);    /* open */
    return 0;
}

/* --- transfers --------------------------------------------------------------- */

bool http_client_add(struct http_client *client, struct http_transfer *t)
{
    return curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t) == CURLE_OK &&
           curl_multi_add_handle(client->multi, t->easy) == CURLM_OK;
}

void http_client_remove(struct http_client *client, struct http_transfer *t)
{
    (void)curl_multi_remove_handle(client->multi, t->easy); /* it is there, or was */
}

/* --- making and closing ------------------------------------------------------ */

struct http_client *http_client_new(uv_loop_t *loop)
{
    struct http_client *client = calloc(1, sizeof(*client));

    if (client == NULL)
        return NULL;
    client->loop = loop;
    client->multi = curl_multi_init();
    if (client->multi == NULL ||
        curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
        curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client) != CURLM_OK ||
        curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_timer) != CURLM_OK ||
        curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client) != CURLM_OK) {
        (void)curl_multi_cleanup(client->multi); /* empty */
        free(client);
        return NULL;
    }
    (void)uv_timer_init(loop, &client->timer); /* cannot fail */
    client->timer.data = client;
    return client;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void http_client_close(struct http_client *client)
{
    (void)curl_multi_cleanup(client->multi); /* every transfer was removed */
    uv_close((uv_handle_t *)&client->timer, on_closed);
}
