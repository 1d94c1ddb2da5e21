! image_status, failed_images, stopped_images: none has failed; then all but one stop.
! run: 1 2 3 8 | status 0 | says passed
program image_states
  use, intrinsic :: iso_fortran_env, only: stat_stopped_image
  implicit none
  integer, allocatable :: images(:)
  integer(8), allocatable :: wide(:)
  integer :: x[*], me, n, i, status, tries
  character(100) :: message
  me = this_image()
  n = num_images()
  x = 5 * me
  do i = 1, n
    call check(image_status(i) == 0, 'image_status')
  end do
  images = failed_images()
  call check(size(images) == 0, 'failed_images')
  images = stopped_images()
  call check(size(images) == 0, 'stopped_images')
  sync all
  if (me > 1) stop
  if (n > 1) then
    message = 'untouched'
    sync all (stat=status, errmsg=message)
    call check(status == stat_stopped_image .and. message /= 'untouched', 'sync all with images that stopped')
    sync images (n, stat=status)
    call check(status == stat_stopped_image, 'sync images with an image that stopped')
    do i = 2, n
      call wait_for(i)
    end do
    images = stopped_images()
    call check(all(images == [(i, i=2, n)]) .and. size(images) == n - 1, 'the images that stopped')
    wide = stopped_images(kind=8)
    call check(all(wide == [(i, i=2, n)]), 'of another kind')
    call check(x[n] == 5 * n, 'memory of an image that stopped')
  end if
  print '(a)', 'passed'
contains
  subroutine wait_for(image)
    integer, intent(in) :: image
    do while (image_status(image) /= stat_stopped_image)
      sync memory
    end do
  end subroutine

  include 'check.inc'
end program
