! critical: exclusion, several constructs that do not exclude each other, in procedures.
program critical_sections
  implicit none
  integer :: total[*], inside[*], others[*], me, n, i
  me = this_image()
  n = num_images()
  total = 0
  inside = 0
  others = 0
  sync all
  do i = 1, 40
    critical
      inside[1] = inside[1] + 1
      call check(inside[1] == 1, 'alone inside')
      total[1] = total[1] + 1
      inside[1] = inside[1] - 1
    end critical
    call add(me)
  end do
  sync all
  call check(total[1] == 40 * n, 'the total of a construct')
  call check(others[n] == 40 * n * (n + 1) / 2, 'the total of a construct in a procedure')
  call check(inside[1] == 0, 'nobody is inside')
  call passed
contains
  subroutine add(amount)
    integer, intent(in) :: amount
    named: critical
      others[n] = others[n] + amount
    end critical named
  end subroutine

  include 'check.inc'
end program
