/* What graphs store: nobody in the simulator does.  tests/state asks the server for it. */
#include "memory_store.h"

#include "store/assistants.h"
#include "store/checkpoints.h"
#include "store/items.h"

#define NOBODY store_demand(false, "nobody stores what graphs do")

int store_checkpoint_put(struct store *s, const struct checkpoint_row *row, struct error *err)
{
    (void)s, (void)row, (void)err;
    NOBODY;
    return 0;
}

int store_channel_put(struct store *s,
                      const struct checkpoint_row *of,
                      const struct channel_row *row,
                      struct error *err)
{
    (void)s, (void)of, (void)row, (void)err;
    NOBODY;
    return 0;
}

int store_write_put(struct store *s,
                    const struct checkpoint_row *of,
                    const struct write_row *row,
                    struct error *err)
{
    (void)s, (void)of, (void)row, (void)err;
    NOBODY;
    return 0;
}

int store_state_put(struct store *s,
                    const struct checkpoint_row *of,
                    struct str state,
                    struct error *err)
{
    (void)s, (void)of, (void)state, (void)err;
    NOBODY;
    return 0;
}

int store_thread_thin(struct store *s, struct str thread, struct error *err)
{
    (void)s, (void)thread, (void)err;
    NOBODY;
    return 0;
}

int store_item_put(struct store *s, const struct item_row *row, struct error *err)
{
    (void)s, (void)row, (void)err;
    NOBODY;
    return 0;
}

int store_item_delete(struct store *s, const struct item_row *row, struct error *err)
{
    (void)s, (void)row, (void)err;
    NOBODY;
    return 0;
}

int store_item_touch(struct store *s,
                     const struct item_row *row,
                     int64_t now,
                     struct error *err)
{
    (void)s, (void)row, (void)now, (void)err;
    NOBODY;
    return 0;
}

int store_item(struct store *s,
               const struct item_row *row,
               int64_t now,
               store_item_cb cb,
               void *arg,
               struct error *err)
{
    (void)s, (void)row, (void)now, (void)cb, (void)arg, (void)err;
    NOBODY;
    return 0;
}

int store_assistant_insert(struct store *s, const struct assistant_row *row, struct error *err)
{
    (void)s, (void)row, (void)err;
    NOBODY;
    return 0;
}

int store_assistant_choose(struct store *s, struct str id, int64_t version, struct error *err)
{
    (void)s, (void)id, (void)version, (void)err;
    NOBODY;
    return 0;
}

int store_assistant_delete(struct store *s, struct str id, struct error *err)
{
    (void)s, (void)id, (void)err;
    NOBODY;
    return 0;
}

int store_assistant_versions(struct store *s, struct str id, int64_t *ret, struct error *err)
{
    (void)s, (void)id, (void)ret, (void)err;
    NOBODY;
    return 0;
}

int store_assistant(struct store *s,
                    struct str id,
                    store_assistant_cb cb,
                    void *arg,
                    struct error *err)
{
    (void)s, (void)id, (void)cb, (void)arg, (void)err;
    NOBODY;
    return 0;
}
