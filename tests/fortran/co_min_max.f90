! co_min and co_max of every kind of integer and real, and of texts.
program extremes
  implicit none
  integer(1) :: i1
  integer(2) :: i2
  integer(4) :: i4(3)
  integer(8) :: i8
  integer(16) :: i16
  real(4) :: r4
  real(8) :: r8(5)
  real(10), save :: r10 ! static: its unused bytes are zeros, which shows its kind
  real(16) :: r16
  character(3) :: t, texts(2)
  character(2, kind=4) :: wide
  integer :: me, n, i
  me = this_image()
  n = num_images()
  call set
  call co_max(i1)
  call co_max(i2)
  call co_max(i4)
  call co_max(i8)
  call co_max(i16)
  call co_max(r4)
  call co_max(r8(1:5:2))
  call co_max(r10)
  call co_max(r16)
  call co_max(t)
  call co_max(texts)
  call co_max(wide)
  call check(i1 == -1 .and. i2 == 300 * n .and. all(i4 == [n, -1, 100 + n]), 'the largest integers')
  call check(i8 == 10000000000_8 * n .and. i16 == -10000000000_16**3, 'the largest of integer(8), integer(16)')
  call check(r4 == n / 2. .and. all(r8(1:5:2) == -1) .and. r8(2) == -me, 'the largest reals')
  call check(r10 == -1 .and. r16 == n / 3._16, 'the largest of real(10), real(16)')
  call check(t == 'a' // char(64 + n) .and. texts(1) == 'bcd' .and. texts(2) == char(96 + n), 'the last texts')
  call check(wide == achar(960 + n, 4), 'the last text of kind 4')
  do i = 1, n
    call set
    call co_min(i1, i)
    call co_min(i2, i)
    call co_min(i4, i)
    call co_min(i8, i)
    call co_min(i16, i)
    call co_min(r4, i)
    call co_min(r8, i)
    call co_min(r10, i)
    call co_min(r16, i)
    call co_min(t, i)
    call co_min(wide, i)
    if (me /= i) cycle
    call check(i1 == -n .and. i2 == 300 .and. all(i4 == [1, -n, 101]), 'the smallest integers')
    call check(i8 == 10000000000_8 .and. i16 == -10000000000_16**3 * n, 'the smallest of integer(8), integer(16)')
    call check(r4 == 0.5 .and. all(r8 == -n) .and. r10 == -n .and. r16 == 1 / 3._16, 'the smallest reals')
    call check(t == 'aA' .and. wide == achar(961, 4), 'the first texts')
  end do
  call passed
contains
  subroutine set
    i1 = int(-me, 1)
    i2 = int(300 * me, 2)
    i4 = [me, -me, 100 + me]
    i8 = 10000000000_8 * me
    i16 = -10000000000_16**3 * me
    r4 = me / 2.
    r8 = -me
    r10 = -me
    r16 = me / 3._16
    t = 'a' // char(64 + me)
    texts = ['bcd', char(96 + me) // '  ']
    wide = achar(960 + me, 4)
  end subroutine

  include 'check.inc'
end program
