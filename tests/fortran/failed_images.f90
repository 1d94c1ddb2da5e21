! fail image: the others learn of it by stat= and by inquiry, and go on with their coarrays, locks and teams.
! run: 3 8 | args go-on | says passed
! run: 2 3 | args without-stat | status 1 | says image 2 has failed
! run: 3 | args one-stops | says passed
! run: 1 3 | args all | status 1 | never passed
! run: 2 | args output | says written before
program failures
  use, intrinsic :: iso_fortran_env, only: event_type, lock_type, stat_failed_image, stat_stopped_image, team_type
  implicit none
  type(lock_type) :: doors(3)[*]
  type(event_type) :: bell[*]
  type(team_type) :: rest
  integer, allocatable :: made(:)[:], images(:)
  integer :: x[*], cell[*], me, n, i, status, total
  character(40) :: how, message
  me = this_image()
  n = num_images()
  x = 10 * me
  call get_command_argument(1, how)
  sync all
  select case (how)
  case ('go-on')
    if (me == 2) then
      lock (doors(2)[n])
      lock (doors(3)[2])
      x = 77
      sync images (1)
      critical
        call end_here
      end critical
    end if
    if (me == 1) sync images (2)
    sync all (stat=status, errmsg=message)
    call check(status == stat_failed_image .and. message == 'image 2 has failed', 'sync all')
    call check(image_status(2) == stat_failed_image .and. image_status(1) == 0, 'image_status')
    images = failed_images()
    call check(size(images) == 1 .and. all(images == 2), 'failed_images')
    images = stopped_images()
    call check(size(images) == 0, 'stopped_images')
    sync images ([2], stat=status)
    call check(status == stat_failed_image, 'sync images')
    i = x[2, stat=status]
    call check(status == stat_failed_image .and. i == 77, 'a read of the image that has failed')
    i = x[1, stat=status]
    call check(status == 0 .and. i == 10, 'a read of another')
    event post (bell[2], stat=status)
    call check(status == stat_failed_image, 'event post')
    lock (doors(2)[n])
    unlock (doors(2)[n])
    lock (doors(3)[2])
    unlock (doors(3)[2])
    critical
      total = 0
    end critical
    total = 1
    call co_sum(total, stat=status)
    call check(status == stat_failed_image, 'co_sum')
    allocate (made(3)[*], stat=status)
    call check(status == 0 .and. allocated(made), 'allocate goes on')
    made = me
    sync all (stat=status)
    call check(all(made(:)[n] == n), 'what was allocated since')
    deallocate (made)
    call check(.not. allocated(made), 'deallocate')
    form team (1, rest)
    change team (rest)
      call check(num_images() == n - 1, 'a team of those that are left')
      call check(this_image() == merge(1, me - 1, me == 1), 'in order')
      total = 1
      call co_sum(total)
      call check(total == n - 1, 'co_sum of those that are left')
      allocate (made(2)[*])
      made = me
      sync all
      call check(all(made(:)[2] == 3), 'coarrays of those that are left')
      cell = 5
      sync all
      call check(cell[num_images()] == 5, 'coarrays of all images')
    end team
    if (me == 1) print '(a)', 'passed'
  case ('without-stat')
    if (me == 2) fail image
    sync all
    print '(a)', 'nobody comes here'
  case ('one-stops')
    if (me == 1) stop
    if (me == 2) fail image
    do while (image_status(2) == 0)
    end do
    sync all (stat=status)
    call check(status == stat_stopped_image, 'sync all with images that have stopped and failed')
    sync images ([2, 1], stat=status)
    call check(status == stat_stopped_image, 'sync images with both')
    print '(a)', 'passed'
  case ('all')
    fail image
  case ('output')
    if (me == 2) then
      write (*, '(a)', advance='no') 'written before'
      fail image
    end if
  end select
contains
  ! The compiler takes no such statement inside of a critical construct.
  subroutine end_here
    fail image
  end subroutine

  include 'check.inc'
end program
