! library: shared_object_part.f90
! run: 1 3
! Coarrays of a shared library beside those of the program.
program shared_object
  use shared_part
  implicit none
  integer, save :: own(3)[*] = 5
  integer :: next, before
  next = mod(this_image(), num_images()) + 1
  before = modulo(this_image() - 2, num_images()) + 1
  call check(all(kept(:)[next] == 7) .and. own(2)[next] == 5, 'initial values')
  call make(3)
  sync all
  call fill(next)
  sync all
  call check(all(kept == before + 10), 'a static coarray of the library')
  call check(all(made == [-1d0, before / 4d0, -1d0]), 'an allocatable coarray of the library')
  call passed
contains
  include 'check.inc'
end program
