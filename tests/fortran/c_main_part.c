/* A main program in C that calls Fortran. */
int work(int scale);

int main(void)
{
    return work(7) == 0 ? 0 : 1;
}
