! co_broadcast of all types, arrays, sections, objects, from every image.
program broadcast
  implicit none
  type pair
    integer :: k = 0
    real(8) :: x(3) = 0
    integer, allocatable :: a(:)
  end type
  integer(1) :: i1
  integer(8) :: i8(3, 2)
  integer(16) :: i16
  real(4) :: r4(10)
  real(16) :: r16(2)
  complex(8) :: z
  logical :: flag
  character(7) :: text(2)
  character(3, kind=4) :: wide
  type(pair) :: p
  integer, allocatable :: big(:)
  integer :: me, n, root, status
  character(40) :: message
  me = this_image()
  n = num_images()
  allocate (big(30000), p%a(4))
  do root = 1, n
    i1 = int(me, 1)
    i8 = 10000000000_8 * me
    i16 = 10000000000_16**3 * me
    r4 = me
    r16 = me / 3._16
    z = cmplx(me, -me, 8)
    flag = me == root
    text = char(64 + me) // 'bcdefg'
    wide = achar(960 + me, 4) // 4_'bc'
    p%k = me
    p%x = me / 2d0
    p%a = [me, 2 * me, 3 * me, 4 * me]
    big = me
    call co_broadcast(i1, root)
    call co_broadcast(i8, source_image=root, stat=status, errmsg=message)
    call check(status == 0, 'stat')
    call co_broadcast(i16, root)
    call co_broadcast(r4(2:10:4), root)
    call co_broadcast(r16, root)
    call co_broadcast(z, root)
    call co_broadcast(flag, root)
    call co_broadcast(text, root)
    call co_broadcast(wide, root)
    call co_broadcast(p, root)
    call co_broadcast(big, root)
    call check(i1 == root .and. all(i8 == 10000000000_8 * root) .and. i16 == 10000000000_16**3 * root, 'integers')
    call check(all(r4(2:10:4) == root) .and. all(r4(3:5) == me), 'a section')
    call check(all(r16 == root / 3._16) .and. z == cmplx(root, -root, 8) .and. flag, 'real(16), complex, logical')
    call check(all(text == char(64 + root) // 'bcdefg') .and. wide == achar(960 + root, 4) // 4_'bc', 'texts')
    call check(p%k == root .and. all(p%x == root / 2d0) .and. all(p%a == root * [1, 2, 3, 4]), 'an object')
    call check(all(big == root), 'a large array')
  end do
  call passed
contains
  include 'check.inc'
end program
