! Vector subscripts in one to three dimensions, mixed with triplets and scalars; kinds of vectors; lower bounds 0 and 5.
program vectors
  implicit none
  integer :: a(12)[*], b(0:9, 5:14)[*], c(0:4, 5:9, -2:2)[*]
  integer :: v(3) = [1, 5, 7], x(3), y(2, 3), z(3, 2, 2), w(2, 5), u(5, 2), me, n, i, j, k, next, from
  integer(1) :: v1(2) = [3_1, 4_1]
  integer(2) :: v2(2) = [2_2, 0_2]
  integer(8) :: v8(3) = [6_8, 14_8, 6_8]
  integer(16) :: v16(2) = [12_16, 1_16]
  character(4) :: text(12)[*], words(2)
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  a = [(100 * me + i, i=1, 12)]
  text = [(char(64 + me) // char(96 + i) // '..', i=1, 12)]
  do j = 5, 14
    do i = 0, 9
      b(i, j) = 10000 * me + 100 * i + j
    end do
  end do
  do k = -2, 2
    do j = 5, 9
      do i = 0, 4
        c(i, j, k) = 10000 * me + 100 * i + 10 * j + k
      end do
    end do
  end do
  sync all
  do i = 1, n
    x = a(v)[i]
    call check(all(x == 100 * i + v), 'one dimension')
    x(1:2) = a(v16)[i]
    call check(all(x(1:2) == 100 * i + [12, 1]), 'one dimension, a vector of kind 16')
    words = text(v1)[i]
    call check(all(words == char(64 + i) // ['c..', 'd..']), 'texts')
    x = b(v, 6)[i]
    call check(all(x == 10000 * i + 100 * v + 6), 'a vector and a scalar')
    y = b(0:4:4, v8)[i]
    call check(all(y == 10000 * i + reshape([6, 406, 14, 414, 6, 406], [2, 3])), 'a triplet and a vector')
    y = b(9:1:-8, v + 5)[i]
    call check(all(y == 10000 * i + reshape([906, 106, 910, 110, 912, 112], [2, 3])), 'a triplet backwards and a vector')
    y = b(v1, v8)[i]
    call check(all(y == 10000 * i + reshape([306, 406, 314, 414, 306, 406], [2, 3])), 'two vectors')
    x = b(9:1:-4, 6)[i]
    call check(all(x == 10000 * i + 6 + [900, 500, 100]), 'a triplet and a scalar')
    z = c(4:0:-2, v1 + 2_1, v2)[i]
    do k = 1, 2
      do j = 1, 2
        call check(all(z(:, j, k) == 10000 * i + [400, 200, 0] + 10 * (v1(j) + 2) + v2(k)), &
            'a triplet and two vectors')
      end do
    end do
    w = c(3, v1 + 3_1, :)[i]
    do k = -2, 2
      call check(all(w(:, k + 3) == 10000 * i + 300 + 10 * (v1 + 3) + k), 'a scalar, a vector and a whole dimension')
    end do
    u = c(3, :, v2 - 2_2)[i]
    do j = 5, 9
      call check(all(u(j - 4, :) == 10000 * i + 300 + 10 * j + v2 - 2), 'a scalar, a whole dimension and a vector')
    end do
    x(1:2) = c(3, v1 + 3_1, -1)[i]
    call check(all(x(1:2) == 10000 * i + 300 + 10 * (v1 + 3) - 1), 'a vector between scalars')
  end do
  sync all
  a(v)[next] = me * [1, 2, 3]
  b(v, 7)[next] = me * [4, 5, 6]
  b(2:3, v8(1:2))[next] = me
  c(v1, 5:9:4, v2)[next] = -me
  text(v16)[next] = ['last ', 'first']
  sync all
  call check(all(a(v) == from * [1, 2, 3]) .and. a(2) == 100 * me + 2, 'written in one dimension')
  call check(all(b(v, 7) == from * [4, 5, 6]), 'written by a vector and a scalar')
  call check(all(b(2:3, [6, 14]) == from) .and. b(4, 6) == 10000 * me + 406, 'a fill by a triplet and a vector')
  call check(all(c(3:4, 5:9:4, [2, 0]) == -from) .and. count(c < 0) == 8, 'a fill in three dimensions')
  call check(text(12) == 'last' .and. text(1) == 'firs', 'texts that are cut')
  sync all
  a = [(100 * me + i, i=1, 12)]
  sync all
  a([2, 4, 6])[next] = a([12, 10, 8])[n]
  sync all
  call check(all(a(2:6:2) == 100 * n + [12, 10, 8]), 'a transfer by vectors on both sides')
  call passed
contains
  include 'check.inc'
end program
