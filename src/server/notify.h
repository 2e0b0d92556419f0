/* Notifies the service manager by the protocol of sd_notify(3).  Does nothing without one. */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

#include <stdint.h>

/* Sends lines such as "READY=1". */
void notify(const char *lines);

/* How often it wants to hear "WATCHDOG=1", in milliseconds; 0: not at all. */
int64_t notify_watchdog_ms(void);

#endif
