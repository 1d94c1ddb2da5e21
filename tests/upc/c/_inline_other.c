int declared(int);
int exported(int);
int external(int);
int elsewhere(int i) { return i + 7; }
int use_them(int i) { return declared(i) + exported(i) + external(i) + elsewhere(i); }
