! From one coindexed object to another: arrays, scalars, sections, conversion, the same image, whole allocatable coarrays.
program transfers
  implicit none
  integer :: a(6)[*], b(6)[*], me, n, i, next, after
  real(8) :: r(6)[*]
  character(4) :: t[*]
  character(6) :: u[*]
  integer, allocatable :: d(:)[:]
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  after = mod(next, n) + 1
  a = [(10 * me + i, i=1, 6)]
  b = 0
  r = 0
  t = 'abc' // char(64 + me)
  u = '------'
  sync all
  b(1)[next] = a(2)[after]
  b(2:4)[next] = a(1:5:2)[after]
  b(6:5:-1)[next] = a(5:6)[after]
  r(:)[next] = a(6:1:-1)[after]
  u[next] = t[after]
  sync all
  ! The image before this one has written: from the one after this one.
  i = next
  call check(b(1) == 10 * i + 2, 'a scalar')
  call check(all(b(2:4) == 10 * i + [1, 3, 5]), 'a section')
  call check(all(b(5:6) == 10 * i + [6, 5]), 'a section backwards')
  call check(all(r == 10d0 * i + [6, 5, 4, 3, 2, 1]), 'integers to reals')
  call check(u == 'abc' // char(64 + i) // '  ', 'a text that is padded')
  sync all
  if (me == 1) a(2:6)[n] = a(1:5)[n]
  sync all
  if (me == n) call check(all(a == 10 * n + [1, 1, 2, 3, 4, 5]), 'overlapping parts of one array')
  allocate (d(3)[*], source=me)
  d = d(:)[n]
  call check(all(d == n), 'a whole allocatable coarray')
  call passed
contains
  include 'check.inc'
end program
