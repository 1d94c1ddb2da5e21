! with: c_main_part.c
! The main program is C: the first call of the library starts the job, and the end of main ends it.
integer function work(scale) bind(c)
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  integer(c_int), value :: scale
  integer, save :: x[*] = 3
  integer :: n
  n = num_images()
  sync all
  if (x[n] /= 3) error stop 'an initial value'
  sync all
  x = scale * this_image()
  sync all
  work = x[n] - scale * n
  if (this_image() == 1 .and. work == 0) then
    print '(a)', 'passed'
    flush (6)
  end if
  sync all
end function
