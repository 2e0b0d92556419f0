#include "jobs/process_token.h"

#include "base/error.h"

#include <stdio.h>

#define PREFIX "spp_"

enum { MAX_SIGNED = PROCESS_TOKEN_AGENT + 64 };

/* The agent comes last: nothing in it can be taken for another part. */
static struct str signed_text(char text[MAX_SIGNED], int64_t key, struct str agent)
{
    int n = snprintf(text, MAX_SIGNED, "process %lld %.*s", (long long)key, STR_ARG(agent));

    return n > 0 && n < MAX_SIGNED ? str_make(text, (size_t)n) : STR_NONE;
}

void process_token_put(struct buf *b,
                       const unsigned char secret[MAC_KEY],
                       int64_t key,
                       struct str agent)
{
    static const char digits[] = "0123456789abcdef";
    char text[MAX_SIGNED], mac[MAC_CHARS];

    if (agent.n > PROCESS_TOKEN_AGENT || !mac_make(secret, signed_text(text, key, agent), mac))
        return;
    buf_lit(b, PREFIX);
    buf_i64(b, key);
    buf_char(b, '_');
    buf_put(b, mac, MAC_CHARS);
    buf_char(b, '_');
    for (size_t i = 0; i < agent.n; i++) {
        buf_char(b, digits[(unsigned char)agent.p[i] >> 4]);
        buf_char(b, digits[(unsigned char)agent.p[i] & 15]);
    }
}

bool process_token_looks_like(struct str text)
{
    return str_starts(text, STR(PREFIX));
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_agent(struct str hex, struct process_token *ret)
{
    if (hex.n % 2 != 0 || hex.n > (size_t)2 * PROCESS_TOKEN_AGENT)
        return false;
    ret->agent_n = hex.n / 2;
    for (size_t i = 0; i < ret->agent_n; i++) {
        int high = hex_digit(hex.p[2 * i]), low = hex_digit(hex.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret->agent[i] = (char)(high * 16 + low);
    }
    return true;
}

int process_token_read(struct str text,
                       const unsigned char secret[MAC_KEY],
                       struct process_token *ret)
{
    struct str rest = str_skip(text, sizeof(PREFIX) - 1);
    struct str key = str_head(rest, str_find(rest, '_'));
    char whole[MAX_SIGNED];

    rest = str_skip(rest, key.n + 1);
    struct str mac = str_head(rest, str_find(rest, '_'));
    rest = str_skip(rest, mac.n + 1);
    if (!process_token_looks_like(text) || !str_number(key, &ret->key) ||
        !read_agent(rest, ret))
        return ERR_REFUSED;
    return mac_check(secret, signed_text(whole, ret->key, str_make(ret->agent, ret->agent_n)),
                     mac);
}
