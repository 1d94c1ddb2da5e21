! Reads of every intrinsic type: scalars, arrays, parts of expressions, on this image and on others.
program reads
  implicit none
  integer(1) :: i1(4)[*]
  integer(2) :: i2(4)[*]
  integer(4) :: i4(4)[*]
  integer(8) :: i8(4)[*]
  integer(16) :: i16(4)[*]
  real(4) :: r4(4)[*]
  real(8) :: r8(4)[*]
  real(10) :: r10(4)[*]
  real(16) :: r16(4)[*]
  complex(4) :: c4(4)[*]
  complex(8) :: c8(4)[*]
  complex(10) :: c10(4)[*]
  complex(16) :: c16(4)[*]
  logical(1) :: l1(4)[*]
  logical(4) :: l4(4)[*]
  logical(8) :: l8(4)[*]
  character(3) :: t(4)[*]
  character(3, kind=4) :: u(4)[*]
  real(8) :: big(20000)[*], sum_here
  real(8), allocatable :: copy(:)
  integer :: me, n, i, j, status
  me = this_image()
  n = num_images()
  do i = 1, 4
    i1(i) = int(me + i, 1)
    i2(i) = int(300 * me + i, 2)
    i4(i) = 100000 * me + i
    i8(i) = 10000000000_8 * me + i
    i16(i) = 10000000000_16**3 * me + i
    r4(i) = me + i / 8.
    r8(i) = me + i / 3d0
    r10(i) = me + i / 3._10
    r16(i) = me + i / 3._16
    c4(i) = cmplx(me, -i)
    c8(i) = cmplx(me, i / 3d0, 8)
    c10(i) = cmplx(me, i / 3._10, 10)
    c16(i) = cmplx(me, i / 3._16, 16)
    l1(i) = mod(me + i, 2) == 0
    l4(i) = mod(me + i, 2) == 0
    l8(i) = mod(me + i, 2) == 0
    t(i) = char(64 + me) // char(64 + i) // 'x'
    u(i) = achar(64 + me, 4) // char(960 + i, 4) // 4_'x'
  end do
  big = [(me * 1d5 + i, i=1, 20000)]
  sync all
  do j = 1, n
    do i = 1, 4
      call check(i1(i)[j] == j + i .and. i2(i)[j] == 300 * j + i .and. i4(i)[j] == 100000 * j + i, 'integers')
      call check(i8(i)[j] == 10000000000_8 * j + i, 'integer(8)')
      call check(i16(i)[j] == 10000000000_16**3 * j + i, 'integer(16)')
      call check(r4(i)[j] == j + i / 8. .and. r8(i)[j] == j + i / 3d0, 'real(4), real(8)')
      call check(r10(i)[j] == j + i / 3._10 .and. r16(i)[j] == j + i / 3._16, 'real(10), real(16)')
      call check(c4(i)[j] == cmplx(j, -i) .and. c8(i)[j] == cmplx(j, i / 3d0, 8), 'complex(4), complex(8)')
      call check(c10(i)[j] == cmplx(j, i / 3._10, 10), 'complex(10)')
      call check(c16(i)[j] == cmplx(j, i / 3._16, 16), 'complex(16)')
      call check(l1(i)[j] .eqv. mod(j + i, 2) == 0, 'logical(1)')
      call check(all(logical([l8(i)[j], logical(l4(i)[j], 8)]) .eqv. mod(j + i, 2) == 0), 'logical')
      call check(t(i)[j] == char(64 + j) // char(64 + i) // 'x', 'character')
      call check(u(i)[j] == achar(64 + j, 4) // char(960 + i, 4) // 4_'x', 'character of kind 4')
    end do
    call check(all(i4(:)[j] == [(100000 * j + i, i=1, 4)]) .and. sum(i1(:)[j]) == 4 * j + 10, 'whole arrays')
    call check(all(r16(:)[j] == [(j + i / 3._16, i=1, 4)]), 'an array of real(16)')
    call check(all(t(2:3)[j] == [char(64 + j) // 'Bx', char(64 + j) // 'Cx']), 'an array of character')
    sum_here = sum(big(:)[j])
    call check(sum_here == 20000 * (j * 1d5) + 20000 * 20001 / 2, 'an array of 160,000 bytes')
    copy = big(:)[j]
    call check(size(copy) == 20000 .and. copy(1) == j * 1d5 + 1 .and. copy(20000) == j * 1d5 + 20000, &
        'into an allocatable array')
    deallocate (copy)
    i = i4(2)[j, stat=status] + 1
    call check(i == 100000 * j + 3 .and. status == 0, 'a read with stat')
  end do
  call passed
contains
  include 'check.inc'
end program
