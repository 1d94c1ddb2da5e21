! Conversion on the way: kinds and types of numbers, logicals, texts of other lengths and kinds.
program conversion
  implicit none
  integer(1) :: i1(3)[*]
  integer(4) :: i4(3)[*]
  integer(8) :: i8(3)[*]
  integer(16) :: i16(3)[*]
  real(4) :: r4(3)[*]
  real(8) :: r8(3)[*]
  real(10) :: r10(3)[*]
  real(16) :: r16(3)[*]
  complex(4) :: c4(3)[*]
  complex(8) :: c8(3)[*]
  complex(16) :: c16(3)[*]
  logical(1) :: l1(2)[*]
  logical(8) :: l8(2)[*]
  character(5) :: t(2)[*]
  character(5, kind=4) :: u(2)[*]
  integer(8) :: j8(3)
  integer(1) :: j1(3)
  real(8) :: x8(3)
  real(16) :: x16(3)
  complex(8) :: z8(3)
  logical(4) :: flag(2)
  character(3) :: short(2)
  character(8) :: long(2)
  character(8, kind=4) :: long4(2)
  integer :: me, n, next, from
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  i1 = int([-1, 2, 3] * me, 1)
  i4 = [-1, 2, 3] * me
  i16 = [-1, 2, 3] * me
  r4 = [-1.5, 2.25, 1000.75] * me
  r8 = [-1.5d0, 2.25d0, 1000.75d0] * me
  r10 = [-1.5_10, 2.25_10, 1000.75_10] * me
  r16 = [-1.5_16, 2.25_16, 1000.75_16] * me
  c4 = [(1., -2.), (2.5, 3.), (0., 1.)] * me
  c16 = c4
  l1 = [.true., .false.]
  t = ['abcd' // char(64 + me), 'xy   ']
  u = [4_'abcd' // achar(64 + me, 4), 4_'xy   ']
  sync all
  j8 = i1(:)[n]
  call check(all(j8 == [-1, 2, 3] * n), 'integer(1) to integer(8)')
  j1 = int(i16(:)[n], 1)
  call check(all(j1 == [-1, 2, 3] * n), 'integer(16) to integer(1)')
  x8 = i4(:)[n]
  call check(all(x8 == [-1, 2, 3] * n), 'integer to real')
  j8 = r4(:)[n]
  call check(all(j8 == int([-1.5, 2.25, 1000.75] * n)), 'real to integer: towards zero')
  x16 = r4(:)[n]
  call check(all(x16 == [-1.5_16, 2.25_16, 1000.75_16] * n), 'real(4) to real(16)')
  x8 = r16(:)[n]
  call check(all(x8 == [-1.5d0, 2.25d0, 1000.75d0] * n), 'real(16) to real(8)')
  x16 = r10(:)[n]
  call check(all(x16 == [-1.5_16, 2.25_16, 1000.75_16] * n), 'real(10) to real(16)')
  z8 = r8(:)[n]
  call check(all(z8 == cmplx([-1.5d0, 2.25d0, 1000.75d0] * n, kind=8)), 'real to complex')
  x8 = c4(:)[n]
  call check(all(x8 == [1., 2.5, 0.] * n), 'complex to real')
  z8 = c16(:)[n]
  call check(all(z8 == [(1., -2.), (2.5, 3.), (0., 1.)] * n), 'complex(16) to complex(8)')
  j8 = c4(:)[n]
  call check(all(j8 == int([1., 2.5, 0.] * n)), 'complex to integer')
  flag = l1(:)[n]
  call check(flag(1) .and. .not. flag(2), 'logical(1) to logical(4)')
  short = t(:)[n]
  long = t(:)[n]
  call check(all(short == ['abc', 'xy ']), 'a text that is cut')
  call check(all(long == ['abcd' // char(64 + n) // '   ', 'xy      ']), 'a text that is padded')
  long4 = u(:)[n]
  call check(all(long4 == [4_'abcd' // achar(64 + n, 4) // 4_'   ', 4_'xy      ']), 'a text of kind 4 that is padded')
  sync all

  i1(:)[next] = [-1_8, 2_8, 3_8] * me
  i8(:)[next] = [-1.9, 2.9, 3.] * me
  i16(:)[next] = me
  r4(:)[next] = [-1, 2, 3] * me
  r8(:)[next] = [1.5_16, 2.5_16, 3.5_16] * me
  r10(:)[next] = 0.25 * me
  r16(:)[next] = [1, 2, 3] * me
  c8(:)[next] = [-1, 2, 3] * me
  c4(:)[next] = cmplx([1d0, 2d0, 3d0], me, 8)
  c16(:)[next] = 0.5 * me
  l8(:)[next] = [.true._1, .false._1]
  t(:)[next] = ['1', '2']
  u(1)[next] = 4_'123456789'
  sync all
  call check(all(i1 == [-1, 2, 3] * from), 'written integer(8) to integer(1)')
  call check(all(i8 == int([-1.9, 2.9, 3.] * from)), 'written real to integer')
  call check(all(i16 == from), 'a fill of integer(16)')
  call check(all(r4 == [-1, 2, 3] * from) .and. all(r8 == [1.5, 2.5, 3.5] * from), 'written to real')
  call check(all(r10 == 0.25_10 * from) .and. all(r16 == [1, 2, 3] * from), 'written to real(10), real(16)')
  call check(all(c8 == [-1, 2, 3] * from), 'written integer to complex')
  call check(all(c4 == cmplx([1., 2., 3.], from)), 'written complex(8) to complex(4)')
  call check(all(c16 == 0.5_16 * from), 'a fill of complex(16)')
  call check(all(logical(l8) .eqv. [.true., .false.]), 'written logical(1) to logical(8)')
  call check(all(t == ['1    ', '2    ']) .and. u(1) == 4_'12345', 'written texts')
  call passed
contains
  include 'check.inc'
end program
