! Components in a program with an allocator of its own, which the linker has behind the coarrays library: free and realloc of that are called
! for all memory, and pass on what is the allocator's.
! flags: -Wl,--no-as-needed -lcaf_gasnet
! library: other_allocator_part.c
! run: 1 3
! run: 3 | env GASNET_NEIGHBORHOOD=off
include 'other_allocator.f90'
