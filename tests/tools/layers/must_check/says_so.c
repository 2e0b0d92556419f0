/* Must compile: it ignores a result on purpose. */
#include "base/must_check.h"

MUST_CHECK int may_fail(void);
void ignores(void);

void ignores(void)
{
    (void)may_fail();
}
