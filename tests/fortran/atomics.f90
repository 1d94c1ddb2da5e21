! Atomic subroutines, on scalars, elements, logicals; counters of all images.
program atomics
  use, intrinsic :: iso_fortran_env, only: atomic_int_kind, atomic_logical_kind
  implicit none
  integer(atomic_int_kind) :: a[*], b(5)[*], old
  logical(atomic_logical_kind) :: flag[*], was
  integer :: me, n, next, i, status
  integer(8) :: wide
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  a = 0
  b = 0
  flag = .false.
  sync all
  call atomic_define(a[next], 12)
  call atomic_ref(old, a[next])
  call check(old == 12, 'define and ref')
  call atomic_and(a[next], 6)
  call atomic_ref(old, a[next])
  call check(old == 4, 'and')
  call atomic_or(a[next], 3)
  call atomic_ref(old, a[next])
  call check(old == 7, 'or')
  call atomic_xor(a[next], 5)
  call atomic_ref(old, a[next], stat=status)
  call check(old == 2 .and. status == 0, 'xor')
  call atomic_add(a[next], -10)
  call atomic_ref(old, a[next])
  call check(old == -8, 'add')
  call atomic_fetch_add(a[next], 20, old)
  call check(old == -8, 'fetch_add')
  call atomic_fetch_and(a[next], 10, old)
  call check(old == 12, 'fetch_and')
  call atomic_fetch_or(a[next], 1, old)
  call check(old == 8, 'fetch_or')
  call atomic_fetch_xor(a[next], 15, old, stat=status)
  call check(old == 9 .and. status == 0, 'fetch_xor')
  call atomic_cas(a[next], old, 5, 77)
  call check(old == 6, 'cas that fails')
  call atomic_cas(a[next], old, 6, 77)
  call check(old == 6, 'cas that succeeds')
  call atomic_ref(old, a[next])
  call check(old == 77, 'what cas wrote')
  wide = 5
  call atomic_define(a[next], wide)
  call atomic_ref(wide, a[next])
  call check(wide == 5, 'values of 8 bytes')
  call atomic_define(flag[next], .true.)
  call atomic_ref(was, flag[next])
  call check(was, 'a logical')
  call atomic_cas(flag[next], was, .true._atomic_logical_kind, .false._atomic_logical_kind)
  call check(was, 'cas of a logical')
  call atomic_ref(was, flag[next])
  call check(.not. was, 'what cas of a logical wrote')
  sync all
  call check(a == 5, 'this image sees it')
  sync all
  a = 0
  sync all
  do i = 1, 200
    call atomic_add(a[1], 1)
    call atomic_fetch_add(b(mod(i, 5) + 1)[n], me, old)
    call check(old >= 0, 'a sum that grows')
  end do
  sync all
  call check(a[1] == 200 * n .and. all(b(:)[n] == 40 * n * (n + 1) / 2), 'counters of all images')
  sync all
  ! A flag that one image waits for: atomics order nothing but themselves, sync memory does.
  b = 0
  sync all
  if (me == 1) then
    do i = 2, n
      call atomic_define(b(1)[i], 1)
    end do
  else
    do
      call atomic_ref(old, b(1))
      if (old == 1) exit
    end do
  end if
  call passed
contains
  include 'check.inc'
end program
