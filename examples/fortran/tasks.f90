! Tasks of unequal length from a common counter; results in lists of each image's own length; a report by teams.
program tasks
  use, intrinsic :: iso_fortran_env, only: lock_type, team_type, int64
  implicit none
  type list
    integer, allocatable :: numbers(:)
    integer(int64), allocatable :: results(:)
  end type
  integer, parameter :: count = 400
  integer :: next[*], refused[*]
  type(lock_type) :: gate[*]
  type(list) :: done[*]
  type(team_type) :: halves
  integer :: me, images, i, j, task, found
  integer, allocatable :: numbers(:)
  integer(int64), allocatable :: results(:)
  integer(int64) :: total, expected

  me = this_image()
  images = num_images()
  next = 0
  refused = 0
  done%numbers = [integer ::]
  done%results = [integer(int64) ::]
  sync all
  do
    lock (gate[1])
    next[1] = next[1] + 1
    task = next[1]
    unlock (gate[1])
    if (task > count) exit
    done%numbers = [done%numbers, task]
    done%results = [done%results, work(task)]
  end do
  critical
    refused[1] = refused[1] + 1
  end critical
  sync all

  ! Image 1 reads all lists: every task is in one of them, with its result.
  if (me == 1) then
    if (refused /= images) error stop 'verification: failed (critical)'
    found = 0
    do i = 1, images
      numbers = done[i]%numbers
      results = done[i]%results
      do j = 1, size(numbers)
        if (results(j) /= work(numbers(j))) error stop 'verification: failed (a result)'
      end do
      found = found + size(numbers)
    end do
    if (found /= count) error stop 'verification: failed (tasks are missing)'
  end if

  ! The sum of all results: in each half of the images first.
  total = sum(done%results)
  form team (merge(1, 2, 2 * me <= images + 1), halves)
  change team (halves)
    call co_sum(total)
    if (this_image() > 1) total = 0
  end team
  call co_sum(total)
  expected = sum([(work(i), i=1, count)])
  if (total /= expected) error stop 'verification: failed (sum)'
  sync all
  if (me == 1) print '(a,i0,a,i0,a)', 'tasks: ', count, ' tasks by ', images, ' images'
  if (me == 1) print '(a)', 'verification: passed'
contains
  ! The steps that Collatz's rule takes to 1.
  pure integer(int64) function work(task)
    integer, intent(in) :: task
    integer(int64) :: value
    value = 9780657630_int64 + task
    work = 0
    do while (value /= 1)
      value = merge(value / 2, 3 * value + 1, mod(value, 2_int64) == 0)
      work = work + 1
    end do
  end function
end program
