/* From a member to the object that it is in. */
#ifndef BASE_CONTAINER_OF_H
#define BASE_CONTAINER_OF_H

#include <stddef.h>

/* @ptr points to the member @member of a @type that is not const. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
