/* Makes the seeds of the target `cluster`: a filled request and a filled answer of each
 * operation.  When request.h or the codec has changed:
 *
 *     build/debug/tests/cluster_seeds tests/fuzz/corpus/cluster
 */
#include "cluster/codec.h"
#include "support/filled_request.h"

enum { AS_REQUEST = 0xff }; /* the first byte: see cluster.c */

static void save(const char *folder, const char *kind, enum journal_op op, const struct buf *b)
{
    char path[500];

    (void)snprintf(path, sizeof(path), "%s/%s-%02d", folder, kind, (int)op);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(b->p, 1, b->n, f) != b->n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static void make(const char *folder, enum journal_op op)
{
    struct filler f = { .n = op };
    struct journal_request req;
    struct buf b;

    journal_request_init(&req, NULL, NULL, NULL);
    (void)journal_request_begin(&req, op);
    buf_init(&b, SIZE_MAX / 4);
    fill_request(&f, &req, FLOW_IN);
    buf_char(&b, (char)AS_REQUEST);
    codec_put_request(&b, &req);
    save(folder, "request", op, &b);
    buf_clear(&b);
    fill_request(&f, &req, FLOW_OUT);
    buf_char(&b, (char)op);
    codec_put_answer(&b, &req);
    save(folder, "answer", op, &b);
    buf_done(&b);
    arena_done(&req.mem);
    arena_done(&f.mem);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: cluster_seeds FOLDER\n");
        return 2;
    }
    for (enum journal_op op = 0; op < JOURNAL_OP_MAX; op++)
        if (op != JOURNAL_SETTINGS)
            make(argv[1], op);
    return 0;
}
