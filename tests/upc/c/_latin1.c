/* Bytes that are no UTF-8: é */
const char *latin1(void) { return "\0ÿ café"; }
unsigned long latin1_size(void) { return sizeof "\0ÿ café" + upc_elemsizeof(shared char); }
