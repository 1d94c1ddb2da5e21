#include <upc_nb.h>
#include <upc_types.h>
static upc_handle_t handle_in_header(void)
{
    return UPC_COMPLETE_HANDLE;
}
