/* libcurl, loaded when it is first called: by an agent that is a remote endpoint, or by the
 * command-line client.
 *
 * Linking with it would load some thirty libraries at the start of every command: 8 ms and 7
 * MiB, which `translate` and most servers would pay for nothing.  So these are its functions,
 * as far as they are used, each of which finds the real one.  No state is kept: dlopen counts.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

/* Puts the address of libcurl's @name into *@place, a function pointer; NULL without libcurl.
 */
static void find(const char *name, void *place)
{
    void *lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

    /* POSIX's own way of turning an object pointer into a function pointer. */
    *(void **)place = lib != NULL ? dlsym(lib, name) : NULL;
}

CURL *curl_easy_init(void)
{
    CURL *(*real)(void);

    find("curl_easy_init", &real);
    return real != NULL ? real() : NULL;
}

void curl_easy_cleanup(CURL *curl)
{
    void (*real)(CURL *);

    find("curl_easy_cleanup", &real);
    if (real != NULL)
        real(curl);
}

void curl_easy_reset(CURL *curl)
{
    void (*real)(CURL *);

    find("curl_easy_reset", &real);
    if (real != NULL)
        real(curl);
}

CURLcode curl_easy_perform(CURL *curl)
{
    CURLcode (*real)(CURL *);

    find("curl_easy_perform", &real);
    return real != NULL ? real(curl) : CURLE_FAILED_INIT;
}

/* An option's value is a pointer, a long or a curl_off_t: all as large as a pointer. */
CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    CURLcode (*real)(CURL *, CURLoption, ...);
    va_list args;

    _Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *),
                   "values are handed on as pointers");
    va_start(args, option);
    void *value = va_arg(args, void *);
    va_end(args);
    find("curl_easy_setopt", &real);
    return real != NULL ? real(curl, option, value) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    CURLcode (*real)(CURL *, CURLINFO, ...);
    va_list args;

    va_start(args, info);
    void *place = va_arg(args, void *);
    va_end(args);
    find("curl_easy_getinfo", &real);
    return real != NULL ? real(curl, info, place) : CURLE_FAILED_INIT;
}

const char *curl_easy_strerror(CURLcode code)
{
    const char *(*real)(CURLcode);

    find("curl_easy_strerror", &real);
    return real != NULL ? real(code) : "libcurl.so.4 is not installed";
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text)
{
    struct curl_slist *(*real)(struct curl_slist *, const char *);

    find("curl_slist_append", &real);
    return real != NULL ? real(list, text) : NULL;
}

void curl_slist_free_all(struct curl_slist *list)
{
    void (*real)(struct curl_slist *);

    find("curl_slist_free_all", &real);
    if (real != NULL)
        real(list);
}

CURLM *curl_multi_init(void)
{
    CURLM *(*real)(void);

    find("curl_multi_init", &real);
    return real != NULL ? real() : NULL;
}

CURLMcode curl_multi_cleanup(CURLM *multi)
{
    CURLMcode (*real)(CURLM *);

    find("curl_multi_cleanup", &real);
    return real != NULL ? real(multi) : CURLM_INTERNAL_ERROR;
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *curl)
{
    CURLMcode (*real)(CURLM *, CURL *);

    find("curl_multi_add_handle", &real);
    return real != NULL ? real(multi, curl) : CURLM_INTERNAL_ERROR;
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *curl)
{
    CURLMcode (*real)(CURLM *, CURL *);

    find("curl_multi_remove_handle", &real);
    return real != NULL ? real(multi, curl) : CURLM_INTERNAL_ERROR;
}

CURLMcode curl_multi_perform(CURLM *multi, int *running)
{
    CURLMcode (*real)(CURLM *, int *);

    find("curl_multi_perform", &real);
    return real != NULL ? real(multi, running) : CURLM_INTERNAL_ERROR;
}

CURLMcode curl_multi_poll(CURLM *multi,
                          struct curl_waitfd more[],
                          unsigned n_more,
                          int timeout_ms,
                          int *n_ready)
{
    CURLMcode (*real)(CURLM *, struct curl_waitfd[], unsigned, int, int *);

    find("curl_multi_poll", &real);
    return real != NULL ? real(multi, more, n_more, timeout_ms, n_ready) : CURLM_INTERNAL_ERROR;
}

CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    CURLMsg *(*real)(CURLM *, int *);

    find("curl_multi_info_read", &real);
    return real != NULL ? real(multi, left) : NULL;
}

CURLcode curl_easy_pause(CURL *curl, int mask)
{
    CURLcode (*real)(CURL *, int);

    find("curl_easy_pause", &real);
    return real != NULL ? real(curl, mask) : CURLE_FAILED_INIT;
}

CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...)
{
    CURLMcode (*real)(CURLM *, CURLMoption, ...);
    va_list args;

    va_start(args, option);
    void *value = va_arg(args, void *);
    va_end(args);
    find("curl_multi_setopt", &real);
    return real != NULL ? real(multi, option, value) : CURLM_INTERNAL_ERROR;
}

CURLMcode curl_multi_assign(CURLM *multi, curl_socket_t socket, void *data)
{
    CURLMcode (*real)(CURLM *, curl_socket_t, void *);

    find("curl_multi_assign", &real);
    return real != NULL ? real(multi, socket, data) : CURLM_INTERNAL_ERROR;
}

CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int events, int *running)
{
    CURLMcode (*real)(CURLM *, curl_socket_t, int, int *);

    find("curl_multi_socket_action", &real);
    return real != NULL ? real(multi, socket, events, running) : CURLM_INTERNAL_ERROR;
}
