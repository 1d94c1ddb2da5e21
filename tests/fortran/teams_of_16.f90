! The functions for teams that gfortran 16 calls, called from C. The linker takes them for the names as it does for that compiler.
! with: teams_part.c
! flags: -Wl,--wrap=_gfortran_caf_this_image,--wrap=_gfortran_caf_num_images,--wrap=_gfortran_caf_form_team
! flags: -Wl,--wrap=_gfortran_caf_change_team,--wrap=_gfortran_caf_end_team,--wrap=_gfortran_caf_sync_team
! run: 1 2 3 5
! run: 3 4 | env GASNET_NEIGHBORHOOD=off
program teams_of_16
  implicit none
  interface
    subroutine use_teams() bind(c)
    end subroutine
  end interface
  call use_teams
  print '(a)', 'passed'
end program
