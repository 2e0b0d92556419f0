/* Errors: 0, or one of these negative codes, the same way everywhere.
 *
 * A function that can say more than its code fills a `struct error` that the
 * caller hands in: one sentence for a person, with what was wrong and where. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

enum {
    ERR_NOMEM = -1000,
    ERR_TOO_LARGE, /* over a configured limit */
    ERR_SYNTAX,    /* not JSON, not UTF-8, not what the format allows */
    ERR_TYPE,      /* JSON, but not of the expected shape */
    ERR_REFUSED,   /* understood, but not allowed */
    ERR_NOT_FOUND,
    ERR_CLOSED, /* the job has ended */
    ERR_IO,
    ERR_BUSY,
    ERR_LIMIT,     /* too many at the same time: may work later */
    ERR_MOVED,     /* another gateway does it */
    ERR_ELSEWHERE, /* another shard has it */
    ERR_UNKNOWN,   /* it was done, or it was not: the answer is lost */
    ERR_CONFLICT   /* another transaction was in the way: the same may work now */
};

struct error {
    int code;
    char text[240];
};

/* Fills @err (which may be NULL) and returns @code. */
int error_set(struct error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The code's name in words: "out of memory". */
const char *error_name(int code);

#endif
