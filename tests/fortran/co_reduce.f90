! co_reduce by functions of the program: numbers of every kind, texts, objects of several sizes, value arguments.
module operations
  implicit none
  type small
    real(4) :: x = 0
    integer(4) :: at = 0
  end type
  type mixed
    real(8) :: x = 0
    integer(4) :: at = 0
  end type
  type large
    integer :: v(6) = 0
    real(8) :: w = 0
  end type
contains
  pure integer function product_of(a, b)
    integer, intent(in) :: a, b
    product_of = a * b
  end function

  pure integer function largest_value(a, b)
    integer, value :: a, b
    largest_value = max(a, b)
  end function

  pure integer(1) function sum_1(a, b)
    integer(1), intent(in) :: a, b
    sum_1 = a + b
  end function

  pure integer(8) function sum_8(a, b)
    integer(8), intent(in) :: a, b
    sum_8 = a + b
  end function

  pure integer(16) function sum_16(a, b)
    integer(16), intent(in) :: a, b
    sum_16 = a + b
  end function

  pure real(4) function real_sum_4(a, b)
    real(4), intent(in) :: a, b
    real_sum_4 = a + b
  end function

  pure real(8) function real_sum_8(a, b)
    real(8), intent(in) :: a, b
    real_sum_8 = a + b
  end function

  pure real(10) function real_sum_10(a, b)
    real(10), intent(in) :: a, b
    real_sum_10 = a + b
  end function

  pure real(16) function real_sum_16(a, b)
    real(16), intent(in) :: a, b
    real_sum_16 = a + b
  end function

  pure complex(4) function complex_product_4(a, b)
    complex(4), intent(in) :: a, b
    complex_product_4 = a * b
  end function

  pure complex(8) function complex_sum_8(a, b)
    complex(8), intent(in) :: a, b
    complex_sum_8 = a + b
  end function

  pure complex(16) function complex_sum_16(a, b)
    complex(16), intent(in) :: a, b
    complex_sum_16 = a + b
  end function

  pure logical function both(a, b)
    logical, intent(in) :: a, b
    both = a .and. b
  end function

  pure function longest(a, b)
    character(4), intent(in) :: a, b
    character(4) :: longest
    longest = merge(a, b, len_trim(a) > len_trim(b))
  end function

  pure type(small) function small_largest(a, b)
    type(small), intent(in) :: a, b
    small_largest = b
    if (a%x > b%x) small_largest = a
  end function

  pure type(mixed) function mixed_largest(a, b)
    type(mixed), intent(in) :: a, b
    mixed_largest = b
    if (a%x > b%x) mixed_largest = a
  end function

  pure type(large) function large_sum(a, b)
    type(large), intent(in) :: a, b
    large_sum%v = a%v + b%v
    large_sum%w = a%w + b%w
  end function
end module

program reductions
  use operations
  implicit none
  integer :: i, me, n, s, k(4), v, status
  integer(1) :: i1
  integer(8) :: i8
  integer(16) :: i16
  real(4) :: r4
  real(8) :: r8(10)
  real(10), save :: r10 ! static: its unused bytes are zeros, which shows its kind
  real(16) :: r16
  complex(4) :: c4
  complex(8) :: c8
  complex(16) :: c16
  logical :: flag
  character(4) :: t
  type(small) :: ms
  type(mixed) :: mx(3)
  type(large) :: l
  me = this_image()
  n = num_images()
  s = n * (n + 1) / 2
  k = [1, 2, me, mod(me, 2) + 1]
  call co_reduce(k, product_of)
  call check(k(1) == 1 .and. k(2) == 2**n .and. k(3) == factorial(n) .and. k(4) == 2**((n + 1) / 2), 'products')
  v = mod(me * 5, 7)
  call co_reduce(v, largest_value, stat=status)
  call check(v == maxval([(mod(i * 5, 7), i=1, n)]) .and. status == 0, 'value arguments')
  i1 = int(me, 1)
  i8 = 10000000000_8 * me
  i16 = 10000000000_16**3 * me
  call co_reduce(i1, sum_1)
  call co_reduce(i8, sum_8)
  call co_reduce(i16, sum_16)
  call check(i1 == s .and. i8 == 10000000000_8 * s .and. i16 == 10000000000_16**3 * s, 'integers')
  r4 = me / 2.
  r8 = [(me * 0.5d0 * i, i=1, 10)]
  r10 = me / 2._10
  r16 = me / 2._16
  call co_reduce(r4, real_sum_4)
  call co_reduce(r8(2:10:2), real_sum_8)
  call co_reduce(r10, real_sum_10)
  call co_reduce(r16, real_sum_16)
  call check(r4 == s / 2. .and. all(r8(2:10:2) == s * [1, 2, 3, 4, 5]) .and. r8(3) == me * 1.5d0, 'reals')
  call check(r10 == s / 2._10 .and. r16 == s / 2._16, 'real(10), real(16)')
  c4 = (0., 1.)
  c8 = cmplx(me, -me, 8)
  c16 = cmplx(me, 2 * me, 16)
  call co_reduce(c4, complex_product_4)
  call co_reduce(c8, complex_sum_8)
  call co_reduce(c16, complex_sum_16)
  call check(c4 == (0., 1.)**n .and. c8 == cmplx(s, -s, 8) .and. c16 == cmplx(s, 2 * s, 16), 'complex')
  flag = .true.
  call co_reduce(flag, both)
  call check(flag, 'all are true')
  flag = me /= n
  call co_reduce(flag, both)
  call check(.not. flag, 'one is false')
  t = repeat('x', min(me, 4))
  call co_reduce(t, longest)
  call check(len_trim(t) == min(n, 4), 'texts')
  ms = small(10. - abs(me - 2), me)
  call co_reduce(ms, small_largest)
  call check(ms%at == min(n, 2), 'an object of 8 bytes')
  do i = 1, 3
    mx(i) = mixed(10d0 - abs(me - i), me)
  end do
  call co_reduce(mx, mixed_largest)
  call check(all(mx%at == [(min(n, i), i=1, 3)]) .and. all(mx%x == [(10d0 - max(0, i - n), i=1, 3)]), &
      'objects of a real and an integer')
  l%v = me * [1, 2, 3, 4, 5, 6]
  l%w = me / 2d0
  call co_reduce(l, large_sum, result_image=n)
  if (me == n) call check(all(l%v == s * [1, 2, 3, 4, 5, 6]) .and. l%w == s / 2d0, 'a large object')
  call passed
contains
  integer function factorial(number)
    integer, intent(in) :: number
    factorial = product([(i, i=1, number)])
  end function

  include 'check.inc'
end program
