! b = a(:)[i] and b(:) = a(:)[i] with an allocatable b: another shape is allocated, an equal one is kept.
program reallocation
  implicit none
  integer, allocatable, target :: b(:)
  integer, allocatable :: c(:, :), a(:)[:]
  integer :: s(5)[*], m(2, 3)[*], me, n
  integer, pointer :: before
  me = this_image()
  n = num_images()
  allocate (a(4)[*])
  a = me * [1, 2, 3, 4]
  s = me * [1, 2, 3, 4, 5]
  m = me
  sync all
  b = a(:)[n]
  call check(size(b) == 4 .and. lbound(b, 1) == 1 .and. all(b == n * [1, 2, 3, 4]), 'not allocated before')
  b = s(2:4)[n]
  call check(size(b) == 3 .and. all(b == n * [2, 3, 4]), 'another size')
  deallocate (b)
  allocate (b(-1:3))
  before => b(-1)
  b(:) = s(:)[n]
  call check(lbound(b, 1) == -1 .and. all(b == n * [1, 2, 3, 4, 5]), 'a section keeps the bounds')
  call check(associated(before, b(-1)), 'a section keeps its memory')
  c = m(:, 2:)[n]
  call check(all(shape(c) == [2, 2]) .and. all(c == n), 'two dimensions')
  b = s(5:1:-2)[n]
  call check(size(b) == 3 .and. all(b == n * [5, 3, 1]), 'a section backwards')
  call passed
contains
  include 'check.inc'
end program
