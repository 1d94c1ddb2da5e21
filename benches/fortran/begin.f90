! A program that does nothing, from its start to its end: prints how many images there are.
program begin
  implicit none
  sync all
  if (this_image() == 1) print '(a,i0)', 'images ', num_images()
end program
