! co_sum of every kind of number, scalars, arrays, sections, to one image or to all.
program sums
  implicit none
  integer(1) :: i1
  integer(2) :: i2(3)
  integer(4) :: i4(4, 5)
  integer(8) :: i8
  integer(16) :: i16
  real(4) :: r4(100)
  real(8) :: r8(20, 3)
  real(10), save :: r10 ! static: its unused bytes are zeros, which shows its kind
  real(16) :: r16(2)
  complex(4) :: c4
  complex(8) :: c8(3)
  complex(10) :: c10
  complex(16) :: c16
  real(8), allocatable :: big(:)
  integer :: me, n, s, i, status
  me = this_image()
  n = num_images()
  s = n * (n + 1) / 2
  i1 = int(me, 1)
  i2 = int([1, 2, 3] * me, 2)
  i4 = reshape([(i * me, i=1, 20)], [4, 5])
  i8 = 10000000000_8 * me
  i16 = 10000000000_16**3 * me
  r4 = me
  r8 = me / 2d0
  r10 = me / 4._10
  r16 = [0.5_16, 2._16**70] * me
  c4 = cmplx(me, -me)
  c8 = cmplx(me, 2 * me, 8)
  c10 = cmplx(me, 3 * me, 10)
  c16 = cmplx(me, 4 * me, 16)
  call co_sum(i1)
  call co_sum(i2)
  call co_sum(i4)
  call co_sum(i8, stat=status)
  call check(status == 0, 'stat')
  call co_sum(i16)
  call co_sum(r4(1:100:3))
  call co_sum(r8(2:20:6, :))
  call co_sum(r10)
  call co_sum(r16)
  call co_sum(c4)
  call co_sum(c8)
  call co_sum(c10)
  call co_sum(c16)
  call check(i1 == s .and. all(i2 == [1, 2, 3] * s), 'integer(1), integer(2)')
  call check(all(i4 == reshape([(i * s, i=1, 20)], [4, 5])) .and. i8 == 10000000000_8 * s, 'integer(4), integer(8)')
  call check(i16 == 10000000000_16**3 * s, 'integer(16)')
  call check(all(r4(1:100:3) == s) .and. all(r4(2:99:3) == me), 'a section of real(4)')
  call check(all(r8(2:20:6, :) == s / 2d0) .and. all(r8(3:19:6, :) == me / 2d0), 'a section of real(8)')
  call check(r10 == s / 4._10 .and. all(r16 == [0.5_16, 2._16**70] * s), 'real(10), real(16)')
  call check(c4 == cmplx(s, -s) .and. all(c8 == cmplx(s, 2 * s, 8)), 'complex(4), complex(8)')
  call check(c10 == cmplx(s, 3 * s, 10) .and. c16 == cmplx(s, 4 * s, 16), 'complex(10), complex(16)')
  do i = 1, n
    i8 = me
    r16 = me
    call co_sum(i8, result_image=i)
    call co_sum(r16, result_image=i)
    if (me == i) call check(i8 == s .and. all(r16 == s), 'to one image')
  end do
  allocate (big(50000))
  big = [(me * 1d0 * i, i=1, 50000)]
  call co_sum(big)
  call check(all(big == [(s * 1d0 * i, i=1, 50000)]), 'a large array')
  call passed
contains
  include 'check.inc'
end program
