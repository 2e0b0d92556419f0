/* The era of a database: another number after a failover, when rows that were read before may
 * be lost, and their keys used again. */
#ifndef STORE_ERA_H
#define STORE_ERA_H

#include <stdint.h>

struct store;

/* Known after the first read; 0: the database has only one. */
uint64_t store_era(const struct store *s);

#endif
