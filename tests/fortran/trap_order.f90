! A remote component that its owner changes between synchronisations: every read finds what was last assigned.
program order
  implicit none
  type t
    integer, allocatable :: a(:)
  end type
  type(t) :: x[*]
  integer :: n, i, next
  n = num_images()
  next = mod(this_image(), n) + 1
  do i = 1, 300
    x%a = spread(i * this_image(), 1, mod(i, 40) + 1)
    sync all
    call check(size(x[next]%a(:)) == mod(i, 40) + 1, 'the size of this turn')
    call check(all(x[next]%a(:) == i * next), 'the value of this turn')
    sync all
  end do
  call passed
contains
  include 'check.inc'
end program
