int f(void)
{
    int i = 'x + ''; "open;
    return undeclared;
}
