/* Random numbers of the system. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include "base/table.h"

/* Cannot be guessed.  False when the system has no random numbers. */
bool random_uuid(char out[KEY_UUID_CHARS]);
/* The same with the time in front (version 7): later ones sort behind earlier ones. */
bool random_uuid_at(int64_t ms, char out[KEY_UUID_CHARS]);

#endif
