! move_alloc of coarrays, to one that is allocated and to one that is not.
program moves
  implicit none
  integer, allocatable :: a(:)[:], b(:)[:]
  integer :: n, me
  me = this_image()
  n = num_images()
  allocate (a(3)[*])
  a = [1, 2, 3] * me
  call move_alloc(a, b)
  call check(.not. allocated(a) .and. allocated(b), 'moved to one that was not allocated')
  call check(all(b(:)[n] == [1, 2, 3] * n), 'its elements')
  sync all
  allocate (a(5)[*])
  a = 7 * me
  call move_alloc(a, b)
  call check(size(b) == 5 .and. .not. allocated(a), 'moved to one that was allocated')
  sync all
  call check(b(5)[n] == 7 * n, 'its elements, too')
  sync all
  b(2) = -me
  sync all
  call check(b(2)[1] == -1, 'written after the move')
  deallocate (b)
  allocate (a(2)[*], b(2)[*])
  a = me
  b = -me
  sync all
  call check(a(1)[n] == n .and. b(2)[n] == -n, 'allocated again')
  call passed
contains
  include 'check.inc'
end program
