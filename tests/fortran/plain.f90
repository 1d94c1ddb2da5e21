! A program without coarrays, and output of every image.
! run: 1 2 3 8 | args lines | says the last line
program plain
  implicit none
  character(9) :: word
  integer :: i
  call get_command_argument(1, word)
  if (word /= 'lines' .or. command_argument_count() /= 1) error stop 'the command line has changed'
  do i = 1, 3
    print '(a,i0,a,i0)', 'image ', this_image(), ', line ', i
  end do
  sync all
  if (this_image() == num_images()) print '(a)', 'the last line'
  if (this_image() == 1) print '(a)', 'passed'
end program
