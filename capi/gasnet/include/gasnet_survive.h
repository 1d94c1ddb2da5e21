/* Programs that go on when ranks of their job die: gasnetrun --on-death shrink or heal. Not part of gasnet.h or
 * gasnetex.h: include it after one of them, where gasnet_init or gex_Client_Init is called. Without it such a job is refused.
 *
 * The death of a rank ends the world that it happens in: the numbers of the ranks, the segments and everything that ranks have
 * made together. The others go on in the next world, in which a client has started and attached nothing:
 *
 *   static void work(void *state) {          // runs again in each world
 *     gasnet_attach(...);                    // or gex_Segment_Attach, gex_EP_RegisterHandlers, ...
 *     ...                                    // nothing here knows of deaths
 *   }
 *   int main(int argc, char **argv) {
 *     gasnet_init(&argc, &argv);
 *     gasnetx_survive(work, &state);
 *     gasnet_exit(0);
 *   }
 *
 * A call that waits for a rank that has died, or for several ranks of which one has died, does not return: the function that was
 * given to gasnetx_survive or gasnetx_attempt is left from the middle. Its variables are gone, what it has written elsewhere is
 * there, locks that it held stay locked; in C++ destructors run. Between it and the call there may be functions of C and of C++, all
 * with the tables that compilers write unless they are told not to (-fno-asynchronous-unwind-tables). Calls that poll
 * or test and find nothing do the same when any rank has died. A loop without calls notices nothing; nor do puts and gets of memory
 * that is mapped here. Outside of such a function a death ends the job with a message. docs/death.md has the details. */
#ifndef _GASNET_SURVIVE_H
#define _GASNET_SURVIVE_H

#if !defined(_GASNETEX_H)
  #error include gasnet.h or gasnetex.h before gasnet_survive.h
#endif

GASNETT_BEGIN_EXTERNC

/* Among the modes of the program's objects: it may be started with --on-death. */
static const gasneti_mode_t gasneti_mode_survives
  __attribute__((__section__("gasneti_modes"), __used__, __unused__, __aligned__(1))) =
  { "survives" };

/* what gasnetx_attempt returns when a death has ended the function */
#define GASNETX_DIED 10099

/* Collective, once, before a segment is attached. Runs the function, and runs it again in the next world after each death: with
 * --on-death heal other processes replace the dead, begin the program at the start and come here; with shrink the world is that of the
 * ranks that are left. All ranks return GASNET_OK, or none. In a job that ends with its first death it only runs the
 * function. */
extern int gasnetx_survive(void (*work)(void *), void *argument);

/* Other rules than those of gasnetx_survive. The first runs a function, and returns GASNET_OK, or GASNETX_DIED if a death has ended it;
 * not collective. After that nothing is left but to go on in the next world, in which the program attaches again: with the ranks
 * that are left (shrink), or with replacements (heal), as the job was started. Collective over the ranks that neither die nor leave. */
extern int gasnetx_attempt(void (*work)(void *), void *argument);
extern int gasnetx_shrink(void);
extern int gasnetx_heal(void);

/* the ranks of this world that are known here to have died, ascending, as many as there is room for; returns how many there are */
extern size_t gasnetx_dead(gex_Rank_t *ranks, size_t room);
/* how many worlds the job had before this one, and how many processes this rank */
extern uint32_t gasnetx_epoch(void);
extern uint32_t gasnetx_incarnation(void);
/* the number of a rank of this world in the first one, by which gasnetrun names it */
extern gex_Rank_t gasnetx_first_number(gex_Rank_t rank);

GASNETT_END_EXTERNC

#endif
