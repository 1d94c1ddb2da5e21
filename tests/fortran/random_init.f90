! random_init: the same numbers on all images or not, the same again or not.
program random_numbers
  implicit none
  real :: x(8)[*], first(8), again(8)
  integer :: me, i, j, n
  me = this_image()
  n = num_images()

  call random_init(repeatable=.true., image_distinct=.false.)
  call random_number(first)
  x = first
  sync all
  call check(all(x(:)[1] == first), 'repeatable and not distinct: the same everywhere')
  call random_init(.true., .false.)
  call random_number(again)
  call check(all(again == first), 'repeatable: the same again')
  sync all

  call random_init(.true., .true.)
  call random_number(first)
  x = first
  sync all
  call distinct
  call random_init(.true., .true.)
  call random_number(again)
  call check(all(again == first), 'repeatable and distinct: the same again')
  sync all

  call random_init(.false., .false.)
  call random_number(first)
  x = first
  sync all
  call check(all(x(:)[1] == first), 'neither: the same everywhere')
  sync all

  call random_init(.false., .true.)
  call random_number(first)
  x = first
  sync all
  call distinct
  call passed
contains
  subroutine distinct
    do i = 1, n
      do j = 1, i - 1
        call check(any(x(:)[i] /= x(:)[j]), 'images have other numbers')
      end do
    end do
    sync all
  end subroutine

  include 'check.inc'
end program
