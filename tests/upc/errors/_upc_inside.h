// Included by _modes.h: UPC inside C.
#pragma upc upc_code
extern shared int inside;
