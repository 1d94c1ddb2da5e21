! Events: post to others, wait for several, query, arrays, allocatable ones; data that was written before the post.
program events
  use, intrinsic :: iso_fortran_env, only: event_type
  implicit none
  type(event_type) :: ready[*], slots(4)[*]
  type(event_type), allocatable :: late(:)[:]
  integer :: data(20)[*], me, n, i, j, next, from, count, status
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  allocate (late(2)[*])
  call event_query(ready, count)
  call check(count == 0, 'none at first')
  sync all
  ! Each image tells the next.
  do i = 1, 100
    data(:)[next] = 100 * me + i
    event post (ready[next])
    event wait (ready)
    call check(all(data == 100 * from + i), 'written before the post')
    event post (slots(3)[from])
    event wait (slots(3))
  end do
  sync all
  ! Everybody tells image 1, some of them several times.
  do j = 1, me
    event post (slots(2)[1], stat=status)
    call check(status == 0, 'stat of post')
  end do
  if (me == 1) then
    event wait (slots(2), until_count=n * (n + 1) / 2, stat=status)
    call event_query(slots(2), count, stat=status)
    call check(count == 0 .and. status == 0, 'all were waited for')
  end if
  sync all
  event post (late(2)[next])
  event post (late(2)[next])
  event post (late(2)[next])
  event post (late(1)[n])
  sync all
  call event_query(late(2), count)
  call check(count == 3, 'three posts')
  event wait (late(2), until_count=2)
  call event_query(late(2), count)
  call check(count == 1, 'one is left')
  event wait (late(2))
  if (me == n) event wait (late(1), until_count=n)
  sync all
  deallocate (late)
  call passed
contains
  include 'check.inc'
end program
