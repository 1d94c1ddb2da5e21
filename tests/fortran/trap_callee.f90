! An ordinary procedure allocates, reallocates and frees the components of a coarray with malloc and free.
! run: 1 2 3 8
! run: 2 | args 10000
module ordinary
  implicit none
  type t
    integer, allocatable :: a(:)
    integer, allocatable :: s
  end type
contains
  subroutine fill(x, count)
    type(t), intent(inout) :: x
    integer, intent(in) :: count
    integer :: i
    x%a = [(count * this_image() + i, i=1, count)]
    x%s = count
  end subroutine

  subroutine clear(x)
    type(t), intent(out) :: x
  end subroutine
end module

program callee
  use ordinary
  implicit none
  type(t) :: d[*], e(2)[*]
  type(t), allocatable :: al[:]
  character(8) :: word
  integer :: me, n, next, i, times, count
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  times = 30
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) times
  end if
  allocate (al[*])
  do i = 1, times
    count = mod(i, 7) + 1
    call fill(d, count)
    call fill(e(2), count + 1)
    call fill(al, 2)
    sync all
    call check(allocated(d[next]%a) .and. d[next]%s == count, 'allocated by the callee')
    call check(d[next]%a(count) == count * next + count, 'its value')
    call check(size(e(2)[next]%a(:)) == count + 1 .and. all(al[next]%a == 2 * next + [1, 2]), 'other objects')
    sync all
    d%a = [me, count, 5]
    sync all
    call check(all(d[next]%a == [next, count, 5]), 'reallocated by the program')
    sync all
    call fill(d, 4)
    deallocate (d%a)
    call clear(e(2))
    sync all
    call check(.not. allocated(d[next]%a) .and. .not. allocated(e(2)[next]%a), 'deallocated')
    if (mod(i, 10) == 0) then
      deallocate (al)
      allocate (al[*])
    end if
    sync all
  end do
  call passed
contains
  include 'check.inc'
end program
