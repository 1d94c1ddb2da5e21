// Arrays without a bound close a struct that has other members.
struct alone {
    int a[]; // expect-error: bound
};
struct padded {
    int : 4;
    int a[]; // expect-error: bound
};
struct early {
    int a[]; // expect-error: bound
    int n;
};
union either {
    int n, a[]; // expect-error: bound
};
struct fine {
    struct {
        int n;
    };
    int a[];
};
int main(void) { return sizeof(struct fine) != sizeof(int); }
