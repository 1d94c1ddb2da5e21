// strict and relaxed belong to shared, and exclude each other.
#include <upc.h>
strict int a; // expect-error:
relaxed int b; // expect-error:
strict relaxed shared int c; // expect-error:
typedef strict shared int s;
relaxed s d; // expect-error:
strict s fine;
strict shared strict int fine_too;
int main(void) { return 0; }
