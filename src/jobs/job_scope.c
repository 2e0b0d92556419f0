#include "jobs/job_scope.h"

#include "base/container_of.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { MAX_NAME = 64 };

struct scope_block {
    atomic_uint refs;
    struct job_scope_rule rules[]; /* then their texts */
};

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '_' || c == '-'))
            return false;
    }
    return s.n > 0 && s.n <= MAX_NAME;
}

bool job_scope_valid_owner(struct str owner)
{
    return is_name(owner);
}

static struct str trim(struct str s)
{
    while (s.n > 0 && s.p[0] == ' ')
        s = str_skip(s, 1);
    while (s.n > 0 && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}

/* "own", "owner:acme", "job-1", "team-*" */
static bool parse_rule(struct str word, struct str own, struct job_scope_rule *ret)
{
    struct str prefix = STR("owner:");

    if (str_is(word, "own"))
        *ret = (struct job_scope_rule){ JOB_SCOPE_OWNER, own };
    else if (str_starts(word, prefix))
        *ret = (struct job_scope_rule){ JOB_SCOPE_OWNER, str_skip(word, prefix.n) };
    else if (str_ends(word, STR("*")))
        *ret = (struct job_scope_rule){ JOB_SCOPE_PREFIX, str_head(word, word.n - 1) };
    else
        *ret = (struct job_scope_rule){ JOB_SCOPE_ID, word };
    return is_name(ret->text);
}

static int parse(struct job_scope *r, struct str list, struct str own, struct error *err)
{
    while (list.n > 0) {
        struct str word = str_head(list, str_find(list, ','));

        list = str_skip(list, word.n + 1);
        word = trim(word);
        if (str_is(word, "all") || str_is(word, "*")) {
            r->all = true;
            continue;
        }
        if (r->n == JOB_SCOPE_MAX_RULES)
            return error_set(err, ERR_REFUSED, "jobs: more than %d in the list",
                             JOB_SCOPE_MAX_RULES);
        if (!parse_rule(word, own, &r->rules[r->n++]))
            return error_set(err, ERR_REFUSED,
                             "jobs: '%.*s' is none of all, own, owner:NAME, ID and PREFIX*",
                             STR_ARG(str_head(word, 80)));
    }
    return r->all || r->n > 0 ? 0 : error_set(err, ERR_REFUSED, "jobs: the list is empty");
}

/* Moves rules and texts into one block. */
static int settle(struct job_scope *r, const struct job_scope_rule *rules, struct error *err)
{
    size_t bytes = sizeof(struct scope_block) + r->n * sizeof(rules[0]);

    for (size_t i = 0; i < r->n; i++)
        bytes += rules[i].text.n;
    struct scope_block *block = malloc(bytes);
    if (block == NULL)
        return error_set(err, ERR_NOMEM, "out of memory");
    atomic_init(&block->refs, 1);
    r->rules = block->rules;
    char *at = (char *)(r->rules + r->n);
    for (size_t i = 0; i < r->n; i++) {
        str_copy(at, rules[i].text);
        r->rules[i] = (struct job_scope_rule){ rules[i].kind, str_make(at, rules[i].text.n) };
        at += rules[i].text.n;
    }
    return 0;
}

int job_scope_init(struct job_scope *r, struct str list, struct str own, struct error *err)
{
    struct job_scope_rule rules[JOB_SCOPE_MAX_RULES];
    struct job_scope draft = { .rules = rules };

    int code = parse(&draft, list, own, err);
    if (code == 0)
        code = settle(&draft, rules, err);
    if (code == 0)
        *r = draft;
    return code;
}

static struct scope_block *block_of(const struct job_scope *r)
{
    return container_of(r->rules, struct scope_block, rules);
}

void job_scope_done(struct job_scope *r)
{
    if (r->rules != NULL && atomic_fetch_sub(&block_of(r)->refs, 1) == 1)
        free(block_of(r));
    *r = (struct job_scope){ 0 };
}

void job_scope_share(struct job_scope *r, const struct job_scope *from)
{
    *r = from != NULL ? *from : (struct job_scope){ .all = true };
    if (r->rules != NULL)
        atomic_fetch_add_explicit(&block_of(r)->refs, 1, memory_order_relaxed);
}

static bool fits(const struct job_scope_rule *rule, struct str job, struct str owner)
{
    switch (rule->kind) {
    case JOB_SCOPE_OWNER:
        return !str_absent(owner) && str_eq(rule->text, owner);
    case JOB_SCOPE_ID:
        return str_eq(rule->text, job);
    case JOB_SCOPE_PREFIX:
        return str_starts(job, rule->text);
    }
    return false;
}

bool job_scope_includes(const struct job_scope *r, struct str job, struct str owner)
{
    if (r == NULL || r->all)
        return true;
    for (size_t i = 0; i < r->n; i++)
        if (fits(&r->rules[i], job, owner))
            return true;
    return false;
}

struct str job_scope_owner(const struct job_scope *r)
{
    bool simple = r != NULL && !r->all && r->n == 1 && r->rules[0].kind == JOB_SCOPE_OWNER;

    return simple ? r->rules[0].text : STR_NONE;
}
