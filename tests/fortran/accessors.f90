! The functions that gfortran 15 calls instead of some of those of gfortran 8 to 14, called from C.
! with: accessors_part.c
! run: 1 2 3
! run: 2 3 | env GASNET_NEIGHBORHOOD=off
! run: 2 3 | env GASNET_NEIGHBORHOOD=2
program accessors
  implicit none
  interface
    subroutine use_accessors(me, images) bind(c)
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int), value :: me, images
    end subroutine
  end interface
  sync all
  call use_accessors(this_image(), num_images())
  sync all
  if (this_image() == 1) print '(a)', 'passed'
end program
