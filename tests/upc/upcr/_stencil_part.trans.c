/* a second file of the same kind of pointers */
#include "upcr.h"
upcr_shared_ptr_t second_file_pointer;
