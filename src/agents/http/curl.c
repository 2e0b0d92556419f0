/* libcurl, loaded when it is first called: by an agent that is a remote endpoint, or by the
 * command-line client.
 *
 * Linking with it would load some thirty libraries at the start of every command: 8 ms and 7
 * MiB, which `translate` and most servers do not need.  So this file defines the functions that
 * we use; each finds and calls the real one.  No state is kept: dlopen counts. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

/* Stores the address of libcurl's function @name in *@place; NULL without libcurl. */
static void find(const char *name, void *place)
{
    void *lib = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

    /* The way that POSIX recommends to turn an object pointer into a function pointer. */
    *(void **)place = lib != NULL ? dlsym(lib, name) : NULL;
}

/* Defines a function that calls libcurl's function of the same name, or returns @otherwise. */
#define FORWARD(type, name, parameters, arguments, otherwise) \
    type name parameters                                      \
    {                                                         \
        type(*real) parameters;                               \
                                                              \
        find(#name, &real);                                   \
        return real != NULL ? real arguments : (otherwise);   \
    }

/* The same for one that returns nothing, */
#define FORWARD_VOID(name, parameters, arguments) \
    void name parameters                          \
    {                                             \
        void(*real) parameters;                   \
                                                  \
        find(#name, &real);                       \
        if (real != NULL)                         \
            real arguments;                       \
    }

/* and for one that takes any value: a pointer, a long or a curl_off_t, all as large as a
 * pointer. */
#define FORWARD_VALUE(type, name, handle_type, option_type, otherwise)   \
    type name(handle_type *handle, option_type option, ...)              \
    {                                                                    \
        type (*real)(handle_type *, option_type, ...);                   \
        va_list args;                                                    \
                                                                         \
        va_start(args, option);                                          \
        void *value = va_arg(args, void *);                              \
        va_end(args);                                                    \
        find(#name, &real);                                              \
        return real != NULL ? real(handle, option, value) : (otherwise); \
    }
_Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *),
               "values are handed on as pointers");

/* clang-format off: a table */
FORWARD(CURL *, curl_easy_init, (void), (), NULL)
FORWARD(CURLcode, curl_easy_perform, (CURL * curl), (curl), CURLE_FAILED_INIT)
FORWARD(CURLcode, curl_easy_pause, (CURL * curl, int mask), (curl, mask), CURLE_FAILED_INIT)
FORWARD(const char *,
        curl_easy_strerror,
        (CURLcode code),
        (code),
        "libcurl.so.4 is not installed")
FORWARD(struct curl_slist *,
        curl_slist_append,
        (struct curl_slist * list, const char *text),
        (list, text),
        NULL)
FORWARD(CURLM *, curl_multi_init, (void), (), NULL)
FORWARD(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi), CURLM_INTERNAL_ERROR)
FORWARD(CURLMcode,
        curl_multi_add_handle,
        (CURLM * multi, CURL *curl),
        (multi, curl),
        CURLM_INTERNAL_ERROR)
FORWARD(CURLMcode,
        curl_multi_remove_handle,
        (CURLM * multi, CURL *curl),
        (multi, curl),
        CURLM_INTERNAL_ERROR)
FORWARD(CURLMcode,
        curl_multi_perform,
        (CURLM * multi, int *running),
        (multi, running),
        CURLM_INTERNAL_ERROR)
FORWARD(
    CURLMcode,
    curl_multi_poll,
    (CURLM * multi, struct curl_waitfd more[], unsigned n_more, int timeout_ms, int *n_ready),
    (multi, more, n_more, timeout_ms, n_ready),
    CURLM_INTERNAL_ERROR)
FORWARD(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left), (multi, left), NULL)
FORWARD(CURLMcode,
        curl_multi_assign,
        (CURLM * multi, curl_socket_t socket, void *data),
        (multi, socket, data),
        CURLM_INTERNAL_ERROR)
FORWARD(CURLMcode,
        curl_multi_socket_action,
        (CURLM * multi, curl_socket_t socket, int events, int *running),
        (multi, socket, events, running),
        CURLM_INTERNAL_ERROR)
FORWARD_VOID(curl_easy_cleanup, (CURL * curl), (curl))
FORWARD_VOID(curl_easy_reset, (CURL * curl), (curl))
FORWARD_VOID(curl_slist_free_all, (struct curl_slist * list), (list))
FORWARD_VALUE(CURLcode, curl_easy_setopt, CURL, CURLoption, CURLE_FAILED_INIT)
FORWARD_VALUE(CURLcode, curl_easy_getinfo, CURL, CURLINFO, CURLE_FAILED_INIT)
FORWARD_VALUE(CURLMcode, curl_multi_setopt, CURLM, CURLMoption, CURLM_INTERNAL_ERROR)
/* clang-format on */
