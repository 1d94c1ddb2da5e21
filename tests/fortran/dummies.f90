! Coarrays as dummy arguments: of every shape, parts of arrays, optional, allocatable, through several calls.
module callees
  implicit none
contains
  integer function of_scalar(x, image)
    integer, intent(inout) :: x[*]
    integer, intent(in) :: image
    of_scalar = x[image]
  end function

  integer function of_explicit(x, count, image)
    integer, intent(in) :: count, image
    integer, intent(inout) :: x(count)[*]
    of_explicit = x(count)[image]
  end function

  integer function of_assumed_size(x, image)
    integer, intent(inout) :: x(*)[*]
    integer, intent(in) :: image
    of_assumed_size = x(2)[image]
  end function

  integer function of_assumed_shape(x, image)
    integer, intent(inout) :: x(0:)[*]
    integer, intent(in) :: image
    of_assumed_shape = x(ubound(x, 1))[image]
  end function

  integer function through(x, image)
    integer, intent(inout) :: x(:)[*]
    integer, intent(in) :: image
    through = of_assumed_shape(x(2:), image)
  end function

  logical function is_there(x)
    integer, optional, intent(in) :: x[*]
    is_there = present(x)
  end function

  subroutine make(x, count)
    integer, allocatable, intent(inout) :: x(:)[:]
    integer, intent(in) :: count
    if (allocated(x)) deallocate (x)
    allocate (x(count)[*])
    x = count * this_image()
    sync all
  end subroutine

  subroutine write_to(x, image)
    integer, intent(inout) :: x(:)[0:*]
    integer, intent(in) :: image
    x(3)[image - 1] = -this_image()
  end subroutine
end module

program dummies
  use callees
  implicit none
  integer :: s[*], a(6)[*], m(4, 5)[*], n, me, i, next
  integer, allocatable :: d(:)[:]
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  s = 3 * me
  a = [(10 * me + i, i=1, 6)]
  m = reshape([(100 * me + i, i=1, 20)], [4, 5])
  sync all
  call check(of_scalar(s, n) == 3 * n, 'a scalar')
  call check(of_scalar(a(4), n) == 10 * n + 4, 'an element')
  call check(of_explicit(a, 6, next) == 10 * next + 6, 'explicit shape')
  call check(of_explicit(a(3), 2, next) == 10 * next + 4, 'explicit shape, from an element on')
  call check(of_assumed_size(a, next) == 10 * next + 2, 'assumed size')
  call check(of_assumed_shape(a, next) == 10 * next + 6, 'assumed shape')
  call check(of_assumed_shape(a(2:5), next) == 10 * next + 5, 'a section')
  call check(of_assumed_shape(a(5:1:-2), next) == 10 * next + 1, 'a section backwards')
  call check(of_assumed_shape(m(2, :), next) == 100 * next + 18, 'a row')
  call check(through(m(:, 3), n) == 100 * n + 12, 'a section of a section')
  call check(is_there(s) .and. .not. is_there(), 'an optional one')
  call make(d, 4)
  call check(d(4)[n] == 4 * n, 'allocated by the callee')
  sync all
  call make(d, 2)
  call check(d(2)[n] == 2 * n .and. size(d) == 2, 'allocated again by the callee')
  call check(of_assumed_shape(d, next) == 2 * next, 'an allocatable one as actual argument')
  sync all
  call write_to(a(2:), next)
  sync all
  call check(a(4) == -(mod(me + n - 2, n) + 1), 'written by the callee of another image')
  call passed
contains
  include 'check.inc'
end program
