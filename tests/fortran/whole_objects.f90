! Objects of derived types without allocatable parts as a whole, and polymorphic coarrays.
program whole_objects
  implicit none
  type point
    real(8) :: x = 0, y = 0
    integer :: id = 0
  end type
  type, extends(point) :: named
    character(6) :: name = ''
  end type
  type(point) :: p[*], q(4)[*], here, there(4)
  class(point), allocatable :: c[:], many(:)[:]
  integer :: me, n, i, next, from
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  p = point(me, -me, me)
  q = [(point(me, i, 10 * me + i), i=1, 4)]
  allocate (named :: c[*])
  c%x = me
  c%id = 5 * me
  allocate (named :: many(3)[*])
  many%id = me * [1, 2, 3]
  many(2)%y = -me
  sync all
  here = p[n]
  there = q(:)[next]
  call check(here%x == n .and. here%y == -n .and. here%id == n, 'one object')
  call check(all(there%id == 10 * next + [1, 2, 3, 4]) .and. all(there%y == [1, 2, 3, 4]), 'an array of objects')
  there(1:2) = q(4:1:-3)[n]
  call check(all(there(1:2)%id == 10 * n + [4, 1]), 'a section of objects')
  call check(c[n]%id == 5 * n .and. c[next]%x == next, 'components of a polymorphic object')
  call check(many(3)[n]%id == 3 * n .and. many(2)[next]%y == -next, 'components of polymorphic objects')
  sync all
  p[next] = point(1, 2, me)
  q(2:3)[next] = [point(0, 0, me), point(0, 0, -me)]
  c[next]%id = -me
  many(1)[next]%x = me / 2d0
  sync all
  call check(p%x == 1 .and. p%id == from .and. q(2)%id == from .and. q(3)%id == -from, 'written objects')
  call check(q(1)%id == 10 * me + 1 .and. c%id == -from .and. c%x == me, 'a written component')
  call check(many(1)%x == from / 2d0, 'a written component of an array')
  sync all
  q(1)[next] = p[n]
  sync all
  call check(q(1)%id == mod(2 * n - 2, n) + 1 .or. n == 1, 'a transfer of an object')
  call passed
contains
  include 'check.inc'
end program
