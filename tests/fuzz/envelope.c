#include "source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_source(SOURCE_ENVELOPE, data, size);
}
