! flags: -fopenmp
! run: 1 3
! Threads of an image read and write elements of others at the same time, and call atomic subroutines.
program threads
  use, intrinsic :: iso_fortran_env, only: atomic_int_kind
  implicit none
  integer :: x(64)[*], i, next, before, wrong
  integer(atomic_int_kind) :: sum[*] = 0
  real(8) :: narrow(64)[*]
  next = mod(this_image(), num_images()) + 1
  before = modulo(this_image() - 2, num_images()) + 1
  x = this_image() * 100
  sync all
  wrong = 0
  !$omp parallel do num_threads(4) reduction(+:wrong)
  do i = 1, 64
    if (x(i)[next] /= next * 100) wrong = wrong + 1
    x(i)[next] = this_image() * 100 + i
    ! The library converts.
    narrow(i)[next] = i
    call atomic_add(sum[1], i)
  end do
  !$omp end parallel do
  sync all
  call check(wrong == 0, 'values read by threads')
  call check(all(x == [(before * 100 + i, i = 1, 64)]), 'values written by threads')
  call check(all(narrow == [(real(i, 8), i = 1, 64)]), 'values converted by threads')
  call check(sum[1] == 64 * 65 / 2 * num_images(), 'a sum of threads of all images')
  call passed
contains
  include 'check.inc'
end program
