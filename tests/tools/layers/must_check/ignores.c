/* Must not compile: it ignores a result. */
#include "base/must_check.h"

MUST_CHECK int may_fail(void);
void ignores(void);

void ignores(void)
{
    may_fail();
}
