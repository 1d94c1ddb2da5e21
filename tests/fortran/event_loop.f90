! Loops over several events and atomics of this image, which find another place each time.
! run: 2 3
! run: 2 3 | env GASNET_NEIGHBORHOOD=off
program event_loop
  use, intrinsic :: iso_fortran_env, only: event_type, atomic_int_kind
  implicit none
  type(event_type), allocatable :: ready(:)[:]
  integer(atomic_int_kind) :: flags(2)[*]
  integer :: me, n, i, found, done
  me = this_image()
  n = num_images()
  allocate (ready(n + 1)[*])
  flags = 0
  sync all
  if (me > 1) then
    event post (ready(me)[1])
    call atomic_define(flags(1)[1], 1)
    call atomic_define(flags(2)[1], 2)
  else
    done = 1
    do while (done < n)
      done = 0
      do i = 1, n + 1
        call event_query(ready(i), found)
        if (found > 0) done = done + 1
      end do
      done = done + 1
    end do
    done = 0
    do while (done /= 3)
      done = 0
      do i = 1, 2
        call atomic_ref(found, flags(i))
        done = done + found
      end do
    end do
  end if
  sync all
  call passed()
contains
  include 'check.inc'
end program
