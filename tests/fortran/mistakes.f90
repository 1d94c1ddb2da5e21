! A mistake of each kind: one message, or the stat that the standard has for it; never a hang or a signal.
! run: 1 2 | args index-high | status 1 | says image index
! run: 1 2 | args index-zero | status 1 | says image index
! run: 1 2 | args index-negative | status 1 | says image index
! run: 1 2 | args index-stat
! run: 2 3 | args sizes | status 1 | says size
! run: 2 3 | args not-everywhere | status 1 | never passed
! run: 1 2 | args unallocated | status 1 | never passed
! run: 1 2 | args null-component | status 1 | says component
! run: 1 2 | args beyond-component | status 1 | says bounds
! run: 1 2 | args unlock-free | status 1 | says unlock
! run: 2 3 | args unlock-other | status 1 | says unlock
! run: 1 2 | args lock-twice | status 1 | says lock
! run: 1 2 | args twice | status 1 | says sync images
! run: 1 2 | args other-shape | status 1 | never passed
! run: 2 3 | args shapes | status 1 | says match
! run: 2 3 | args kinds | status 1 | says match
! run: 2 3 | args results | status 1 | says match
! run: 2 3 | args sources | status 1 | says match
! run: 1 2 | args source-range | status 1 | says co_broadcast
! run: 2 3 | args operations | status 1 | says image 1 executes
! run: 2 3 | args kinds | status 1 | env GASNET_NEIGHBORHOOD=off | says image 1 executes co_
! run: 2 3 | args stopped | status 1 | says stopped
program mistakes
  use, intrinsic :: iso_fortran_env, only: lock_type
  implicit none
  type t
    integer, allocatable :: a(:)
  end type
  type(t) :: d[*]
  type(lock_type) :: l[*]
  integer, allocatable :: x(:)[:], u(:)[:]
  integer :: s[*], me, n, v(3), status
  real(8) :: r(3)
  character(30) :: which
  me = this_image()
  n = num_images()
  s = me
  v = me
  r = me
  sync all
  call get_command_argument(1, which)
  select case (which)
  case ('index-high')
    v(1) = s[n + 1]
  case ('index-zero')
    s[me - me] = 4
  case ('index-negative')
    v(1) = s[-n]
  case ('index-stat')
    v(1) = s[n + 1, stat=status]
    if (status == 0) error stop 'stat of an image that is not there'
    call passed
  case ('sizes')
    allocate (x(me)[*])
  case ('not-everywhere')
    if (me == 1) allocate (x(3)[*])
    if (me /= 1) sync all
    call co_sum(v)
  case ('unallocated')
    v(1:2) = u(1:2)[n]
  case ('null-component')
    v(1) = d[n]%a(1)
  case ('beyond-component')
    allocate (d%a(2))
    sync all
    v(1) = d[n]%a(me - me + 3)
  case ('unlock-free')
    unlock (l[n])
  case ('unlock-other')
    if (me == 1) lock (l[n])
    sync all
    if (me == n) unlock (l)
    sync all
  case ('lock-twice')
    lock (l)
    lock (l)
  case ('twice')
    sync images ([1, 1])
  case ('other-shape')
    allocate (d%a(2))
    sync all
    d[n]%a = [1, 2, 3]
  case ('shapes')
    if (me == 1) call co_sum(v)
    if (me /= 1) call co_sum(v(1:2))
  case ('kinds')
    if (me == 1) call co_sum(v(1:2))
    if (me /= 1) call co_sum(r(1:1))
  case ('results')
    call co_sum(v, result_image=me)
  case ('sources')
    call co_broadcast(v, mod(me, n) + 1)
  case ('source-range')
    call co_broadcast(v, n + 1)
  case ('operations')
    if (me == 1) call co_sum(v)
    if (me /= 1) call co_max(v)
  case ('stopped')
    if (me == n) stop
    sync all
  end select
  ! Only mistakes that a single image makes come here, on the others.
  sync all
  if (which == 'index-stat') stop
  error stop 99
contains
  include 'check.inc'
end program
