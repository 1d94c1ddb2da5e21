! A cooling rod: each image has a part of it, and reads the edges of its neighbours' parts.
module largest
  implicit none
  type place
    real(8) :: temperature = 0
    integer :: cell = 0
  end type
contains
  pure type(place) function hotter(a, b)
    type(place), intent(in) :: a, b
    hotter = a
    if (b%temperature > a%temperature) hotter = b
  end function
end module

program heat
  use, intrinsic :: iso_fortran_env, only: event_type
  use largest
  implicit none
  integer, parameter :: cells = 1200, steps = 2000
  real(8), allocatable :: u(:)[:], next(:), whole(:), other(:)
  type(event_type) :: read_left[*], read_right[*]
  type(place) :: hottest
  integer :: me, images, share, mine, first, i, step, length

  me = this_image()
  images = num_images()
  share = (cells + images - 1) / images
  first = min((me - 1) * share, cells)
  mine = min(share, cells - first)
  ! u(0) and u(mine + 1) are the edges of the neighbours.
  allocate (u(0:share + 1)[*], next(share))
  u = 0
  u(1:mine) = [(start(first + i), i=1, mine)]
  sync all
  do step = 1, steps
    if (me > 1 .and. mine > 0) u(0) = u(share)[me - 1]
    if (first + mine < cells) u(mine + 1) = u(1)[me + 1]
    ! Neighbours may write over what has been read.
    if (me > 1) event post (read_right[me - 1])
    if (me < images) event post (read_left[me + 1])
    do i = 1, mine
      next(i) = u(i) + 0.25d0 * (u(i - 1) - 2 * u(i) + u(i + 1))
    end do
    if (me < images) event wait (read_right)
    if (me > 1) event wait (read_left)
    u(1:mine) = next(1:mine)
    sync all
  end do

  hottest = place(-1d0, 0)
  do i = 1, mine
    if (u(i) > hottest%temperature) hottest = place(u(i), first + i)
  end do
  call co_reduce(hottest, hotter)

  ! Image 1 computes the same alone.
  if (me == 1) then
    allocate (whole(0:cells + 1), other(cells))
    whole = 0
    whole(1:cells) = [(start(i), i=1, cells)]
    do step = 1, steps
      other = whole(1:cells) + 0.25d0 * (whole(0:cells - 1) - 2 * whole(1:cells) + whole(2:cells + 1))
      whole(1:cells) = other
    end do
    do i = 1, images
      first = min((i - 1) * share, cells)
      length = min(share, cells - first)
      next(1:length) = u(1:length)[i]
      if (maxval(abs(next(1:length) - whole(first + 1:first + length))) > 1d-12) error stop 'verification: failed'
    end do
    if (abs(hottest%temperature - maxval(whole)) > 1d-12) error stop 'verification: failed (hottest)'
    print '(a,i0,a,i0,a,f8.4,a,i0)', 'heat: ', cells, ' cells, ', images, ' images; hottest ', &
        hottest%temperature, ' at ', hottest%cell
    print '(a)', 'verification: passed'
  end if
contains
  pure real(8) function start(cell)
    integer, intent(in) :: cell
    start = merge(100d0, 0d0, cell > cells / 4 .and. cell < cells / 3)
  end function
end program
