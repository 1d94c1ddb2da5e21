! Settings that are wrong: one message, from the first statement of the library on.
! run: 1 3 | env CAF_HEAP=lots | status 1 | says CAF_HEAP=lots: not understood | never passed
! run: 2 | env CAF_HEEP=1G | says did you mean CAF_HEAP? | says passed
program settings
  implicit none
  sync all
  call passed()
contains
  include 'check.inc'
end program
