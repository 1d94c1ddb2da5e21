! sync images: pairs, all, none, this image, unequal numbers of turns; the k-th matches the k-th.
program pairs
  implicit none
  integer :: turn[*], data(50)[*], me, n, i, j, status, next, from
  integer, allocatable :: others(:)
  character(60) :: message
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  sync images (me)
  sync images ([integer ::])
  sync images (*, stat=status)
  call check(status == 0, 'stat')

  ! A chain: image i writes to i + 1 and lets it go on.
  turn = 0
  sync images (*)
  do i = 1, 100
    if (me > 1) then
      sync images (me - 1)
      call check(turn == i .and. all(data == 1000 * me + i), 'written by the image before')
    end if
    if (me < n) then
      turn[me + 1] = i
      data(:)[me + 1] = 1000 * (me + 1) + i
      sync images (me + 1)
      sync images (me + 1)
    end if
    if (me > 1) sync images (me - 1)
  end do

  ! Image 1 with each of the others, in any order.
  if (me == 1) then
    do i = n, 2, -1
      do j = 1, i
        sync images (i)
      end do
    end do
    others = [(i, i=2, n)]
    sync images (others)
  else
    do j = 1, me
      sync images ([1])
    end do
    sync images (1)
  end if

  ! A ring.
  do i = 1, 100
    turn[next] = i
    if (n > 2) then
      sync images ([from, next])
    else
      sync images (next)
    end if
    call check(turn == i, 'a ring')
    if (n > 2) then
      sync images ([next, from])
    else
      sync images (next)
    end if
  end do

  status = 0
  sync images ([1, 1], stat=status, errmsg=message)
  call check(status /= 0, 'an image twice')
  status = 0
  sync images (n + 1, stat=status)
  call check(status /= 0, 'no such image')
  call passed
contains
  include 'check.inc'
end program
