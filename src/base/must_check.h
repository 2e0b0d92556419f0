/* Marks a function whose result must not be ignored: it says whether something failed.  To
 * ignore it on purpose, cast it to (void) and say why. */
#ifndef BASE_MUST_CHECK_H
#define BASE_MUST_CHECK_H

/* GCC's own attribute is not silenced by the cast; the standard's is. */
#if defined(__clang__)
#define MUST_CHECK __attribute__((warn_unused_result))
#elif defined(__has_c_attribute)
#if __has_c_attribute(nodiscard)
#define MUST_CHECK [[nodiscard]]
#endif
#endif
#ifndef MUST_CHECK
#define MUST_CHECK
#endif

#endif
