! Numbers of images, cobounds and cosubscripts.
program images
  implicit none
  integer :: a[*], b[0:1, 5:*], me, n, sub(2)
  integer, allocatable :: c(:)[:, :, :]
  me = this_image()
  n = num_images()
  call check(me >= 1 .and. me <= n, 'this_image')
  call check(num_images(failed=.false.) == n .and. num_images(failed=.true.) == 0, 'none has failed')
  call check(lcobound(a, 1) == 1 .and. ucobound(a, 1) == n, 'cobounds of a[*]')
  call check(this_image(a, 1) == me .and. image_index(a, [me]) == me, 'cosubscript of a[*]')
  sub = this_image(b)
  call check(sub(1) == mod(me - 1, 2) .and. sub(2) == 5 + (me - 1) / 2, 'cosubscripts of b[0:1,5:*]')
  call check(image_index(b, sub) == me, 'image_index of own cosubscripts')
  call check(image_index(b, [0, 5 + n]) == 0, 'cosubscripts of no image')
  call check(all(lcobound(b) == [0, 5]), 'lower cobounds')
  call check(all(ucobound(b) == [1, 5 + (n + 1) / 2 - 1]), 'upper cobounds')
  allocate (c(3)[2, -1:0, *])
  call check(all(lcobound(c) == [1, -1, 1]) .and. ucobound(c, 2) == 0, 'cobounds of an allocatable coarray')
  call check(image_index(c, this_image(c)) == me, 'cosubscripts of an allocatable coarray')
  a = 100 * me
  b = 7 * me
  c = [1, 2, 3] * me
  sync all
  sub = this_image(b)
  call check(b[sub(1), sub(2)] == 7 * me, 'a coindexed object of this image')
  call check(b[mod(n - 1, 2), 5 + (n - 1) / 2] == 7 * n, 'the last image by cosubscripts')
  call check(a[1] == 100 .and. a[n] == 100 * n, 'images by number')
  call check(all(c(:)[1, -1, 1] == [1, 2, 3]), 'the first image by three cosubscripts')
  call passed
contains
  include 'check.inc'
end program
