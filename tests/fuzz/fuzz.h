/* What a fuzz target defines.  libFuzzer calls it, or replay.c does. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; aborts when what it checks does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
