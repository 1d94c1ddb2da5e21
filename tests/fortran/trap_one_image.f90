! A component that one image alone allocates, by a statement and by assignment: no other image takes part.
program one_image
  implicit none
  type t
    integer, allocatable :: a(:), s
  end type
  type(t), allocatable :: x[:], y(:)[:]
  type(t) :: z[*]
  integer :: n, i
  n = num_images()
  allocate (x[*], y(2)[*])
  do i = 1, n
    if (this_image() == i) then
      x%a = [1, 2] * i
      allocate (y(2)%a(i), source=-i)
      z%s = i
    end if
    sync all
    call check(allocated(x[i]%a) .and. allocated(y(2)[i]%a) .and. allocated(z[i]%s), 'allocated')
    if (i < n) call check(.not. allocated(x[n]%a) .and. .not. allocated(z[n]%s), 'not allocated yet')
    call check(all(x[i]%a == [1, 2] * i) .and. size(y(2)[i]%a(:)) == i .and. z[i]%s == i, 'its value')
    sync all
    if (this_image() == i) x%a = [5, 6, 7, 8]
    sync all
    call check(all(x[i]%a == [5, 6, 7, 8]), 'its other shape')
    sync all
    if (this_image() == i) deallocate (y(2)%a)
    sync all
    call check(.not. allocated(y(2)[i]%a), 'deallocated')
    sync all
  end do
  deallocate (x, y)
  call passed
contains
  include 'check.inc'
end program
