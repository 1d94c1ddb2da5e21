! Sections of one to eight dimensions, forwards and backwards, read and written; lower bounds other than 1.
program sections
  implicit none
  integer :: a(10)[*], b(0:9, 5:14)[*], c(4, -1:3, 2:6)[*]
  integer :: e(2, 2, 2, 2, 2, 2, 2)[*], local(0:9, 5:14), flat(128), x(3, 2), me, n, i, j, k, next, from
  real(8) :: wide(4096, 3)[*], column(128)
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  call fill
  sync all
  do i = 1, n
    call check(all(a(2:9:3)[i] == 1000 * i + [2, 5, 8]), 'a stride')
    call check(all(a(10:1:-4)[i] == 1000 * i + [10, 6, 2]), 'a stride backwards')
    call check(size(a(5:4)[i]) == 0, 'an empty section')
    local = b(:, :)[i]
    call check(local(3, 7) == 10000 * i + 307 .and. local(9, 14) == 10000 * i + 914, 'two whole dimensions')
    call check(all(b(0, :)[i] == [(10000 * i + j, j=5, 14)]), 'a row')
    call check(all(b(:, 14)[i] == [(10000 * i + 100 * j + 14, j=0, 9)]), 'a column')
    x = b(8:2:-3, 6:12:5)[i]
    call check(all(x == reshape(10000 * i + [806, 506, 206, 811, 511, 211], [3, 2])), 'strides in both dimensions')
    call check(sum(c(2:3, 0, 3::2)[i]) == 4 * 10000 * i + 2 * 500 + 2 * 80 + 0, 'three dimensions')
    flat = reshape(e(:, :, :, :, :, :, :)[i], [128])
    call check(all(flat == [(1000 * i + k, k=1, 128)]), 'seven dimensions')
    column(1:64) = reshape(real(e(2, :, :, :, :, :, :)[i], 8), [64])
    call check(all(column(1:64) == [(1000 * i + k, k=2, 128, 2)]), 'six of seven dimensions')
    column = wide(1::32, 2)[i]
    call check(all(column == [(i + k / 1d4, k=1, 4096, 32)]), 'a large stride')
  end do
  sync all
  a(1:9:4)[next] = [me, 2 * me, 3 * me]
  b(9:0:-9, 6)[next] = [-me, -2 * me]
  b(2:4, 8:10)[next] = me
  c(:, 3, 6)[next] = [(k * me, k=1, 4)]
  e(1, :, 1, :, 1, 1, 2)[next] = reshape([me, 2 * me, 3 * me, 4 * me], [2, 2])
  wide(7::1000, 3)[next] = [(me * 1d0 + k, k=1, 5)]
  sync all
  call check(all(a(1:9:4) == [1, 2, 3] * from) .and. a(2) == 1000 * me + 2, 'written with a stride')
  call check(b(9, 6) == -from .and. b(0, 6) == -2 * from .and. b(1, 6) == 10000 * me + 106, 'written backwards')
  call check(all(b(2:4, 8:10) == from) .and. b(5, 8) == 10000 * me + 508, 'a fill of two dimensions')
  call check(all(c(:, 3, 6) == [1, 2, 3, 4] * from), 'one of three dimensions')
  call check(e(1, 2, 1, 2, 1, 1, 2) == 4 * from .and. e(1, 2, 1, 1, 1, 1, 2) == 2 * from, 'two of seven dimensions')
  call check(all(wide(7::1000, 3) == [(from * 1d0 + k, k=1, 5)]), 'written with a large stride')
  sync all
  ! Source and destination overlap on this image.
  a = [(i, i=1, 10)]
  a(2:10) = a(1:9)[me]
  call check(all(a == [1, (i, i=1, 9)]), 'a read that overlaps')
  a = [(i, i=1, 10)]
  a(2:10)[me] = a(1:9)
  call check(all(a == [1, (i, i=1, 9)]), 'a write that overlaps')
  a = [(i, i=1, 10)]
  a(1:10)[me] = a(10:1:-1)
  call check(all(a == [(i, i=10, 1, -1)]), 'a write that turns an array')
  call passed
contains
  subroutine fill
    a = [(1000 * me + i, i=1, 10)]
    do j = 5, 14
      do i = 0, 9
        b(i, j) = 10000 * me + 100 * i + j
      end do
    end do
    do k = 2, 6
      do j = -1, 3
        do i = 1, 4
          c(i, j, k) = 10000 * me + 100 * i + 10 * j + 10 * k - 10 * j
        end do
      end do
    end do
    e = reshape([(1000 * me + k, k=1, 128)], shape(e))
    wide = spread([(me + k / 1d4, k=1, 4096)], 2, 3)
  end subroutine

  include 'check.inc'
end program
