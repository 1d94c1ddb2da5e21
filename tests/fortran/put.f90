! Writes of every intrinsic type to the next image: scalars, arrays, fills; order of writes of one image.
program writes
  implicit none
  integer(1) :: i1(4)[*]
  integer(2) :: i2[*]
  integer(4) :: i4(4)[*]
  integer(8) :: i8(4)[*]
  integer(16) :: i16[*]
  real(4) :: r4(4)[*]
  real(8) :: r8(2, 3)[*]
  real(10) :: r10[*]
  real(16) :: r16(4)[*]
  complex(4) :: c4(1)[*]
  complex(8) :: c8(4)[*]
  complex(16) :: c16(1)[*]
  logical(1) :: l1(4)[*]
  logical(4) :: l4[*]
  character(3) :: t(4)[*]
  character(3, kind=4) :: u[*]
  real(8) :: big(20000)[*]
  character(3) :: word
  character(3, kind=4) :: wide
  integer :: me, n, i, next, from
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  big = 0
  l1 = .false.
  l4 = .false.
  r8 = -1
  sync all
  i1(2)[next] = int(me, 1)
  i1(:)[next] = int(me, 1)
  i2[next] = int(300 * me, 2)
  i4(:)[next] = [me, 2 * me, 3 * me, 4 * me]
  i8(3:4)[next] = 10000000000_8 * me
  i16[next] = 10000000000_16**3 * me
  r4(:)[next] = me / 8.
  r8(:, :)[next] = me / 3d0
  r10[next] = me / 3._10
  r16(:)[next] = [(me / 3._16 + i, i=1, 4)]
  c4(1)[next] = cmplx(me, -me)
  c8(:)[next] = [(cmplx(me, i / 3d0, 8), i=1, 4)]
  c16(1)[next] = cmplx(me, me / 3._16, 16)
  l1(2:3)[next] = [.true., .true.]
  l4[next] = .true.
  word = char(64 + me) // 'yz'
  wide = char(960 + me, 4) // 4_'yz'
  t(:)[next] = word
  u[next] = wide
  big(:)[next] = [(me * 1d5 + i, i=1, 20000)]
  sync all
  call check(all(i1 == from) .and. i2 == 300 * from, 'a fill of integer(1), integer(2)')
  call check(all(i4 == [1, 2, 3, 4] * from), 'integer')
  call check(all(i8(3:4) == 10000000000_8 * from) .and. i16 == 10000000000_16**3 * from, 'integer(8), (16)')
  call check(all(r4 == from / 8.) .and. all(r8 == from / 3d0), 'fills of real')
  call check(r10 == from / 3._10 .and. all(r16 == [(from / 3._16 + i, i=1, 4)]), 'real(10), real(16)')
  call check(c4(1) == cmplx(from, -from) .and. all(c8 == [(cmplx(from, i / 3d0, 8), i=1, 4)]), 'complex')
  call check(c16(1) == cmplx(from, from / 3._16, 16), 'complex(16)')
  call check(all(l1 .eqv. [.false., .true., .true., .false.]) .and. l4, 'logical')
  call check(all(t == char(64 + from) // 'yz') .and. u == char(960 + from, 4) // 4_'yz', 'character')
  call check(all(big == [(from * 1d5 + i, i=1, 20000)]), 'an array of 160,000 bytes')
  sync all

  ! What one image writes and reads keeps its order.
  do i = 1, 200
    i4(1)[next] = i
    call check(i4(1)[next] == i, 'a read after a write')
    i4(1)[next] = i + 1000
    i4(1)[next] = -i
    call check(i4(1)[next] == -i, 'the last of two writes')
    i4(1:3)[next] = [i, i + 1, i + 2]
    i4(2)[next] = 0
    call check(all(i4(1:3)[next] == [i, 0, i + 2]), 'writes that overlap')
  end do
  call passed
contains
  include 'check.inc'
end program
