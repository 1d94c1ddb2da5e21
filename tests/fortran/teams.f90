! Teams: numbers, indices, coarrays of outer teams and of the team, synchronisation, collectives, nesting.
program teams
  use, intrinsic :: iso_fortran_env, only: team_type
  implicit none
  type(team_type) :: halves, pairs
  integer :: x[*], me, n, half, members, first, index, total, i
  integer, allocatable :: own(:)[:], left(:)[:]
  me = this_image()
  n = num_images()
  x = 10 * me
  call check(team_number() == -1, 'the number of the initial team')
  half = merge(1, 2, me <= (n + 1) / 2)
  first = merge(0, (n + 1) / 2, half == 1)
  members = merge((n + 1) / 2, n / 2, half == 1)
  form team (half, halves)
  sync all
  do i = 1, 3
    change team (halves)
      call check(num_images() == members .and. this_image() == me - first, 'indices of the team')
      call check(team_number() == half .and. team_number(halves) == half, 'the number of the team')
      index = mod(this_image(), members) + 1
      call check(x[index] == 10 * (first + index), 'an outer coarray by indices of the team')
      sync all
      x[index] = 1000 * half + this_image()
      sync all
      call check(x == 1000 * half + mod(this_image() + members - 2, members) + 1, 'written inside the team')
      total = me
      call co_sum(total)
      call check(total == members * first + members * (members + 1) / 2, 'a sum of the team')
      total = this_image()
      call co_broadcast(total, members)
      call check(total == members, 'a broadcast of the team')
      allocate (own(half + 2)[*])
      own = this_image() * half
      sync all
      call check(own(half + 2)[index] == index * half, 'a coarray of the team')
      sync team (halves)
      sync images (*)
      deallocate (own)
      ! end team deallocates it.
      if (i == 3) allocate (left(4)[*], source=me)
    end team
    call check(this_image() == me .and. num_images() == n, 'back in the initial team')
    x = 10 * me
    sync all
  end do

  ! A team within a team.
  change team (halves)
    form team (mod(this_image(), 2) + 1, pairs)
    change team (pairs)
      call check(num_images() == (members + mod(this_image_of_half(), 2)) / 2, 'members of the inner team')
      call check(team_number() == mod(this_image_of_half(), 2) + 1, 'the number of the inner team')
      index = num_images()
      call check(x[index] == 10 * (first + 2 * index - mod(this_image_of_half(), 2)), 'an outer coarray, twice')
      total = 1
      call co_sum(total)
      call check(total == num_images(), 'a sum of the inner team')
      sync all
    end team
    call check(num_images() == members, 'back in the team')
    total = 1
    call co_sum(total)
    call check(total == members, 'a sum of the team again')
  end team
  call check(x[n] == 10 * n, 'all images again')
  call passed
contains
  integer function this_image_of_half()
    this_image_of_half = me - first
  end function

  include 'check.inc'
end program
