! Every image reads what its neighbour has; image 1 says how many there are.
program client
  implicit none
  integer :: x[*], next
  next = mod(this_image(), num_images()) + 1
  x = this_image()
  sync all
  if (x[next] /= next) error stop 'wrong'
  if (this_image() == 1) print '(a,i0,a)', 'passed: ', num_images(), ' ranks, for FORTRAN'
end program
