! Components that are allocatable or pointers: allocated by each image as it likes, read and written from others.
program components
  implicit none
  type t
    integer :: k = 3
    real(8), allocatable :: x(:)
    integer, allocatable :: s
    integer :: f(4) = [1, 2, 3, 4]
    complex :: z = (1., 2.)
    character(4) :: text = 'text'
  end type
  type p
    integer, pointer :: a(:) => null()
    real(8), pointer :: r => null()
  end type
  type(t) :: d[*], da(3)[*]
  type(t), allocatable :: al(:)[:]
  type(p) :: ptr[*]
  integer, target :: own(5)
  integer :: me, n, i, j, next, from
  real(8), allocatable :: copy(:)
  character(2) :: word
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  call check(.not. allocated(d%x) .and. .not. allocated(d[next]%x), 'not allocated at first')
  sync all
  allocate (d%x(me + 2), d%s)
  d%x = [(me * 10d0 + i, i=1, me + 2)]
  d%s = -me
  d%k = me
  do i = 1, 3
    da(i)%x = [real(8) ::]
    da(i)%x = [(me * 100d0 + 10 * i + j, j=1, i + 1)]
    da(i)%f = me * [1, 2, 3, 4] + i
    da(i)%k = 10 * me + i
  end do
  allocate (al(2)[*])
  allocate (al(2)%x(0:3))
  al(2)%x = [(me + i / 4d0, i=0, 3)]
  own = [(me * i, i=1, 5)]
  ptr%a => own
  allocate (ptr%r)
  ptr%r = me / 2d0
  sync all

  do i = 1, n
    call check(d[i]%k == i .and. d[i]%s == -i, 'scalars')
    call check(all(d[i]%x == [(i * 10d0 + j, j=1, i + 2)]), 'a whole allocatable component')
    call check(d[i]%x(2) == i * 10d0 + 2, 'an element of one')
    call check(all(d[i]%x(i + 2:1:-2) == [(i * 10d0 + j, j=i + 2, 1, -2)]), 'a section of one')
    call check(all(d[i]%x([3, 1]) == i * 10d0 + [3, 1]), 'elements of one by a vector')
    call check(sum(d[i]%f(2:4)) == 9 .and. d[i]%z == (1., 2.) .and. d[i]%text == 'text', 'other components')
    copy = d[i]%x
    call check(size(copy) == i + 2 .and. copy(1) == i * 10d0 + 1, 'into an allocatable array')
    do j = 1, 3
      call check(da(j)[i]%k == 10 * i + j .and. da(j)[i]%f(3) == 3 * i + j, 'an element of an array of objects')
      call check(da(j)[i]%x(j + 1) == i * 100d0 + 11 * j + 1, 'its allocatable component')
    end do
    call check(all(da(:)[i]%k == 10 * i + [1, 2, 3]), 'a component of all objects')
    call check(all(da(3:1:-2)[i]%f(2) == 2 * i + [3, 1]), 'an element of a component of a section')
    call check(al(2)[i]%x(0) == i .and. all(al(2)[i]%x(1:3:2) == i + [0.25d0, 0.75d0]), 'declared bounds of a component')
    call check(all(ptr[i]%a == i * [1, 2, 3, 4, 5]) .and. ptr[i]%a(4) == 4 * i, 'a pointer to an array')
    call check(ptr[i]%r == i / 2d0, 'a pointer to a scalar')
    call check(allocated(d[i]%x) .and. allocated(d[i]%s) .and. .not. allocated(al(1)[i]%x), 'allocated or not')
  end do
  sync all

  d[next]%k = 1000 * me
  d[next]%s = 2000 * me
  d[next]%x(2) = me
  d[next]%x(1:3:2) = [me + 0.5d0, me + 1.5d0]
  da(2)[next]%f(2:3) = [-me, -2 * me]
  da(:)[next]%k = me * [5, 6, 7]
  da(3)[next]%x = [1d0, 2d0, 3d0, 4d0] * me
  word = 'x' // char(64 + me)
  da(1)[next]%text = word
  al(2)[next]%x = me
  al(2)[next]%x([3, 0]) = [1d0, 2d0] * me
  ptr[next]%a(2:4) = -me
  ptr[next]%r = -2 * me
  sync all
  call check(d%k == 1000 * from .and. d%s == 2000 * from, 'written scalars')
  call check(all(d%x(1:3) == from + [0.5d0, 0d0, 1.5d0]), 'written elements')
  call check(all(da(2)%f == [me + 2, -from, -2 * from, 4 * me + 2]), 'a written section of a component')
  call check(all(da%k == from * [5, 6, 7]), 'a written component of all objects')
  call check(all(da(3)%x == [1d0, 2d0, 3d0, 4d0] * from), 'a written allocatable component')
  call check(da(1)%text == 'x' // char(64 + from), 'a written text')
  call check(all(al(2)%x == from * [2, 1, 1, 1]), 'written by a vector')
  call check(all(own == [me, -from, -from, -from, 5 * me]) .and. ptr%r == -2 * from, 'written through pointers')
  sync all

  ! From one image's component to another's.
  d[next]%x(1:2) = da(3)[n]%x(4:3:-1)
  da(2)[next]%k = d[n]%f(4)
  sync all
  call check(all(d%x(1:2) == da(3)[n]%x(4:3:-1)), 'a transfer of components')
  call check(da(2)%k == 4, 'a transfer of scalars')
  sync all

  ! Other shapes, deallocation, allocation again.
  d%x = [(me * 1d0, i=1, 3 * me + 4)]
  deallocate (d%s)
  sync all
  copy = d[next]%x
  call check(size(copy) == 3 * next + 4 .and. all(copy == next), 'another shape')
  call check(.not. allocated(d[next]%s), 'deallocated')
  sync all
  deallocate (al)
  allocate (al(3)[*])
  call check(.not. allocated(al(2)%x), 'components of a new coarray')
  call passed
contains
  include 'check.inc'
end program
