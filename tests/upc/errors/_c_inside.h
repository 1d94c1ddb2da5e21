// Included by c_code.upc between start_upc_only and end_upc_only.
#pragma upc c_code // expect-error:
int strict;
