! Parts of complex coarrays: sections whose elements are further apart than they are long.
program complex_parts
  implicit none
  complex :: z(4)[*]
  complex(8) :: y(2, 3)[*]
  real :: r(4)
  integer :: me, n, next, from
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  z = cmplx([1, 2, 3, 4] * me, -me)
  y = cmplx(me, -me, 8)
  sync all
  r = z(:)[n]%re
  call check(all(r == [1, 2, 3, 4] * n), 'real parts')
  r(1:2) = z(4:1:-2)[n]%re
  call check(all(r(1:2) == [4, 2] * n), 'real parts, backwards')
  call check(z(3)[n]%im == -n .and. y(2, 2)[n]%im == -n, 'an imaginary part')
  sync all
  z(:)[next]%re = [7., 8., 9., 10.] * me
  y(2, :)[next]%re = 5d0 * me
  z(2)[next]%im = 3. * me
  sync all
  call check(all(z == cmplx([7, 8, 9, 10] * from, [-me, 3 * from, -me, -me])), 'written real parts')
  call check(all(y(2, :) == cmplx(5 * from, -me, 8)) .and. all(y(1, :) == cmplx(me, -me, 8)), 'written parts of a row')
  call passed
contains
  include 'check.inc'
end program
