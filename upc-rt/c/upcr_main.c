/* The main of programs made of translated files: linked in when nothing else defines one. Theirs is called user_main. */
#include "upcr.h"

int user_main(int argc, char **argv);

int main(int argc, char **argv)
{
  bupc_init_reentrant(&argc, &argv, user_main);
  return 0;
}
