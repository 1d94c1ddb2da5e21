! flags: -static-libgfortran
! run: 1 3
! The compiler's library is part of the program, and ends it as the shared one does.
program static_gfortran
  implicit none
  real(16) :: wide[*]
  real :: x
  integer :: next
  next = mod(this_image(), num_images()) + 1
  wide = 1q0 / 3
  sync all
  call check(wide[next] == 1q0 / 3, 'a real of 16 bytes')
  call random_init(.true., .true.)
  call random_number(x)
  call check(x >= 0 .and. x < 1, 'a random number')
  call passed
contains
  include 'check.inc'
end program
