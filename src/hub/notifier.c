#include "hub/notifier.h"

int notifier_subscribe(struct notifier *n, notifier_hear hear, void *arg)
{
    n->hear = hear;
    n->arg = arg;
    return 0;
}

static void publish(struct notifier *n,
                    const struct change *change,
                    const struct live_records *live)
{
    n->hear(n->arg, change, live);
}

const struct notifier_ops notifier_in_process = { .subscribe = notifier_subscribe,
                                                  .publish = publish };

const struct notifier_ops notifier_shared = { .may_lose = true,
                                              .subscribe = notifier_subscribe,
                                              .publish = publish };
