! Locks: exclusion, attempts, stat codes, arrays of locks, allocatable ones.
program locks
  use, intrinsic :: iso_fortran_env
  implicit none
  type(lock_type) :: one[*], many(3, 2)[*]
  type(lock_type), allocatable :: late(:)[:]
  integer :: total[*], sums(3, 2)[*], me, n, i, j, k, status
  logical :: got
  character(80) :: message
  me = this_image()
  n = num_images()
  total = 0
  sums = 0
  allocate (late(2)[*])
  sync all
  do i = 1, 50
    lock (one[1])
    total[1] = total[1] + 1
    unlock (one[1])
    j = mod(i, 3) + 1
    k = mod(i, 2) + 1
    lock (many(j, k)[n])
    sums(j, k)[n] = sums(j, k)[n] + me
    unlock (many(j, k)[n])
  end do
  sync all
  call check(total[1] == 50 * n, 'a counter under a lock')
  call check(sum(sums(:, :)[n]) == 50 * n * (n + 1) / 2, 'counters under an array of locks')
  sync all
  lock (late(2), acquired_lock=got)
  call check(got, 'a free lock is acquired')
  lock (late(2)[me], stat=status, errmsg=message)
  call check(status == STAT_LOCKED, 'locked by this image')
  sync all
  if (n > 1) then
    j = mod(me, n) + 1
    lock (late(2)[j], acquired_lock=got, stat=status)
    call check(.not. got .and. status == 0, 'another image has it')
    unlock (late(2)[j], stat=status, errmsg=message)
    call check(status == STAT_LOCKED_OTHER_IMAGE, 'unlock of what another image has')
  end if
  sync all
  unlock (late(2), stat=status)
  call check(status == 0, 'unlock')
  message = 'untouched'
  unlock (late(2), stat=status, errmsg=message)
  call check(status == STAT_UNLOCKED .and. message /= 'untouched', 'unlock of a free lock')
  lock (late(1))
  unlock (late(1))
  sync all
  deallocate (late)
  call passed
contains
  include 'check.inc'
end program
