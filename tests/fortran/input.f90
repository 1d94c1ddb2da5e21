! Image 1 has the input of the job, the others an empty one.
! input: 17
! input: 4
program input
  implicit none
  integer :: a, b, status
  read (*, *, iostat=status) a
  if (this_image() == 1) then
    call check(status == 0 .and. a == 17, 'the first line')
    read (*, *, iostat=status) b
    call check(status == 0 .and. b == 4, 'the second line')
    read (*, *, iostat=status) b
  end if
  call check(is_iostat_end(status), 'end of the input')
  call passed
contains
  include 'check.inc'
end program
