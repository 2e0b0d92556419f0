/* Routes.
 *
 * Each pattern is cut into segments once.  The table is sorted by how exact the patterns
 * are, so the first one that fits and has the method is the right one; all that fit together
 * give the methods of the path (for 405 and OPTIONS).  There are some dozens of routes, and
 * most are skipped by comparing one number (how many segments), so there is no tree. */
#include "http/router.h"

#include "base/error.h"
#include "http/header.h"
#include "http/http.h"

#include <stdlib.h>

enum segment_kind { SEGMENT_LITERAL, SEGMENT_PARAM, SEGMENT_REST };

struct segment {
    enum segment_kind kind;
    struct str text; /* the literal, or the name */
};

struct route_entry {
    const struct http_route *route; /* borrowed */
    unsigned method;                /* a bit */
    size_t n_segments;
    struct segment segments[ROUTER_MAX_SEGMENTS];
};

struct router {
    size_t n;
    struct route_entry entries[];
};

/* The bit of methods[i] is 1 << i. */
static const char *const methods[] = { "GET",   "HEAD",   "POST",   "PUT",
                                       "PATCH", "DELETE", "OPTIONS" };
enum {
    N_METHODS = sizeof(methods) / sizeof(methods[0]),
    BIT_GET = 1 << 0,
    BIT_HEAD = 1 << 1,
    BIT_OPTIONS = 1 << 6,
};

static unsigned method_bit(struct str method)
{
    for (unsigned i = 0; i < N_METHODS; i++)
        if (str_eq(method, str_of(methods[i])))
            return 1u << i;
    return 0;
}

/* --- making the table --------------------------------------------------------------- */

static bool parse_segment(struct str text, bool is_last, struct segment *ret)
{
    bool is_name = text.n >= 2 && text.p[0] == '{' && text.p[text.n - 1] == '}';
    struct str name = is_name ? str_make(text.p + 1, text.n - 2) : text;

    if (!is_name) {
        *ret = (struct segment){ SEGMENT_LITERAL, text };
        return str_find(text, '{') == text.n;
    }
    if (str_ends(name, STR("..."))) {
        *ret = (struct segment){ SEGMENT_REST, str_head(name, name.n - 3) };
        return is_last && name.n > 3;
    }
    *ret = (struct segment){ SEGMENT_PARAM, name };
    return name.n > 0;
}

static bool parse_pattern(struct str pattern, struct route_entry *e)
{
    size_t n_params = 0;

    if (pattern.n == 0 || pattern.p[0] != '/')
        return false;
    while (pattern.n > 0) {
        struct segment s;
        pattern = str_skip(pattern, 1);
        size_t end = str_find(pattern, '/');
        if (e->n_segments == ROUTER_MAX_SEGMENTS ||
            !parse_segment(str_head(pattern, end), end == pattern.n, &s))
            return false;
        n_params += s.kind != SEGMENT_LITERAL;
        e->segments[e->n_segments++] = s;
        pattern = str_skip(pattern, end);
    }
    return n_params <= ROUTER_MAX_PARAMS;
}

static bool make_entry(const struct http_route *route, struct route_entry *e)
{
    e->route = route;
    e->method = route->method != NULL ? method_bit(str_of(route->method)) : 0;
    return e->method != 0 && route->handler != NULL && parse_pattern(str_of(route->pattern), e);
}

/* The more exact pattern first. */
static int compare_entries(const void *left, const void *right)
{
    const struct route_entry *a = left;
    const struct route_entry *b = right;

    for (size_t i = 0; i < a->n_segments && i < b->n_segments; i++)
        if (a->segments[i].kind != b->segments[i].kind)
            return a->segments[i].kind < b->segments[i].kind ? -1 : 1;
    if (a->n_segments != b->n_segments)
        return a->n_segments < b->n_segments ? -1 : 1;
    return a->route < b->route ? -1 : a->route > b->route;
}

int router_new(const struct http_route *routes, struct router **ret, struct error *err)
{
    size_t n = 0;

    while (routes[n].pattern != NULL)
        n++;
    struct router *r = calloc(1, sizeof(*r) + n * sizeof(r->entries[0]));
    if (r == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    for (; r->n < n; r->n++) {
        if (!make_entry(&routes[r->n], &r->entries[r->n])) {
            int code = error_set(err, ERR_SYNTAX, "not a route: %s", routes[r->n].pattern);
            router_free(r);
            return code;
        }
    }
    qsort(r->entries, r->n, sizeof(r->entries[0]), compare_entries);
    *ret = r;
    return 0;
}

void router_free(struct router *r)
{
    free(r);
}

/* --- finding ------------------------------------------------------------------------ */

struct split {
    size_t n;
    struct str parts[ROUTER_MAX_SEGMENTS];
    struct str from[ROUTER_MAX_SEGMENTS]; /* the part and everything after it */
};

/* Cuts at slashes; what is beyond the last place stays in one piece. */
static void split_path(struct str path, struct split *ret)
{
    ret->n = 0;
    while (path.n > 0 && ret->n < ROUTER_MAX_SEGMENTS) {
        path = str_skip(path, 1);
        size_t end = str_find(path, '/');
        ret->from[ret->n] = path;
        ret->parts[ret->n++] = str_head(path, end);
        path = str_skip(path, end);
    }
    if (path.n > 0)
        ret->parts[ret->n - 1] = ret->from[ret->n - 1];
}

static bool fits_count(const struct route_entry *e, const struct split *path)
{
    if (e->segments[e->n_segments - 1].kind == SEGMENT_REST)
        return path->n >= e->n_segments;
    return path->n == e->n_segments;
}

static bool fits(const struct route_entry *e, const struct split *path)
{
    if (!fits_count(e, path))
        return false;
    /* From the end, where patterns differ most. */
    for (size_t i = e->n_segments; i-- > 0;) {
        const struct segment *s = &e->segments[i];
        struct str part = s->kind == SEGMENT_REST ? path->from[i] : path->parts[i];
        if (s->kind == SEGMENT_LITERAL ? !str_eq(part, s->text) : part.n == 0)
            return false;
    }
    return true;
}

static void take_match(const struct route_entry *e,
                       const struct split *path,
                       struct router_match *m)
{
    m->route = e->route;
    for (size_t i = 0; i < e->n_segments; i++) {
        const struct segment *s = &e->segments[i];
        if (s->kind == SEGMENT_LITERAL)
            continue;
        m->names[m->n_params] = s->text;
        m->values[m->n_params++] = s->kind == SEGMENT_REST ? path->from[i] : path->parts[i];
    }
}

void router_find(const struct router *r,
                 struct str method,
                 struct str path,
                 struct router_match *ret)
{
    unsigned wanted = method_bit(method);
    struct split split;

    ret->route = NULL;
    ret->methods = ret->flags = 0;
    ret->n_params = 0;
    if (wanted == BIT_HEAD)
        wanted |= BIT_GET;
    split_path(path, &split);
    for (size_t i = 0; i < r->n; i++) {
        const struct route_entry *e = &r->entries[i];
        if (!fits(e, &split))
            continue;
        ret->methods |= e->method | BIT_OPTIONS | (e->method == BIT_GET ? BIT_HEAD : 0u);
        ret->flags |= e->route->flags;
        if ((e->method & wanted) != 0) {
            take_match(e, &split, ret);
            ret->flags = e->route->flags;
            return;
        }
    }
}

void router_put_methods(struct buf *b, unsigned bits)
{
    const char *separator = "";

    for (unsigned i = 0; i < N_METHODS; i++) {
        if ((bits & 1u << i) == 0)
            continue;
        buf_str(b, str_of(separator));
        buf_str(b, str_of(methods[i]));
        separator = ", ";
    }
}
