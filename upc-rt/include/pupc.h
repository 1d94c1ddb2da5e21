/* pupc.h: profiling events of the program; there is no profiling, so they cost nothing. */
#ifndef _PUPC_H
#define _PUPC_H 1

unsigned int pupc_create_event(const char *name, const char *desc);
int pupc_control(int on);
void pupc_event_start(unsigned int evttag, ...);
void pupc_event_end(unsigned int evttag, ...);
void pupc_event_atomic(unsigned int evttag, ...);

#endif
