//! Library functions that units use, with declarations of one line.

/// How many entries of the list are functions: the first ones.
pub const LIBRARY_FUNCTIONS: u64 = 24;

/// Name and declaration.
pub const LIBRARY: &[(&str, &str)] = &[
    ("upc_threadof", "unsigned long upc_threadof(shared const void *);"),
    ("upc_phaseof", "unsigned long upc_phaseof(shared const void *);"),
    ("upc_addrfield", "unsigned long upc_addrfield(shared const void *);"),
    ("upc_resetphase", "shared void *upc_resetphase(shared void *);"),
    ("upc_alloc", "shared void *upc_alloc(unsigned long);"),
    ("upc_all_alloc", "shared void *upc_all_alloc(unsigned long, unsigned long);"),
    ("upc_global_alloc", "shared void *upc_global_alloc(unsigned long, unsigned long);"),
    ("upc_free", "void upc_free(shared void *);"),
    ("upc_memput", "void upc_memput(shared void *, const void *, unsigned long);"),
    ("upc_memget", "void upc_memget(void *, shared const void *, unsigned long);"),
    ("upc_memcpy", "void upc_memcpy(shared void *, shared const void *, unsigned long);"),
    ("upc_memset", "void upc_memset(shared void *, int, unsigned long);"),
    ("upc_lock", "struct upc_lock_s; void upc_lock(shared struct upc_lock_s *);"),
    ("upc_all_lock_alloc", "shared struct upc_lock_s *upc_all_lock_alloc(void);"),
    ("upc_cast", "void *upc_cast(shared const void *);"),
    ("printf", "int printf(const char *, ...);"),
    ("malloc", "void *malloc(unsigned long);"),
    ("free", "void free(void *);"),
    ("memcpy", "void *memcpy(void *, const void *, unsigned long);"),
    ("memset", "void *memset(void *, int, unsigned long);"),
    ("strcmp", "int strcmp(const char *, const char *);"),
    ("strlen", "unsigned long strlen(const char *);"),
    ("exit", "_Noreturn void exit(int);"),
    ("abs", "int abs(int);"),
    ("size_t", "typedef unsigned long size_t;"),
    ("ptrdiff_t", "typedef long ptrdiff_t;"),
    ("int64_t", "typedef long int64_t;"),
    ("int32_t", "typedef int int32_t;"),
    ("uint64_t", "typedef unsigned long uint64_t;"),
    ("uint32_t", "typedef unsigned uint32_t;"),
    ("uint8_t", "typedef unsigned char uint8_t;"),
    ("wchar_t", "typedef int wchar_t;"),
    ("CHECK", "void CHECK(int);"),
    ("CHECK_EQ", "void CHECK_EQ(long, long);"),
];
