struct options {
    int strict, relaxed;
};
static int c_function(int shared)
{
    struct options o = {shared, 3};
    return o.strict + o.relaxed;
}
