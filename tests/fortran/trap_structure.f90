! Assignment of a whole structure, whose temporary has no token; then remote reads, other shapes, deallocation.
! run: 1 2 3 8
! run: 2 | args 10000
program structure
  implicit none
  type t
    integer, allocatable :: a(:)
    real(8), allocatable :: r
  end type
  type(t), allocatable :: x[:]
  type(t) :: y[*]
  character(8) :: word
  integer :: me, n, next, i, times
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  times = 30
  if (command_argument_count() > 0) then
    call get_command_argument(1, word)
    read (word, *) times
  end if
  allocate (x[*])
  do i = 1, times
    allocate (x%a(2))
    x = t([3, 4, 5] * me, null())
    sync all
    call check(all(x[next]%a == [3, 4, 5] * next) .and. .not. allocated(x[next]%r), 'a structure')
    sync all
    x%a = [me, i]
    x%r = 0.5d0 * me
    y = t([me, i], null())
    y%r = 0.5d0 * me
    sync all
    call check(all(x[next]%a == [next, i]) .and. all(y[next]%a == [next, i]), 'assigned again')
    call check(y[next]%r == 0.5d0 * next, 'a scalar component')
    sync all
    deallocate (x%a)
    deallocate (x%r)
    y = t(null(), null())
    if (mod(i, 10) == 0) then
      x%a = [1]
      deallocate (x)
      allocate (x[*])
    end if
  end do
  deallocate (x)
  call passed
contains
  include 'check.inc'
end program
