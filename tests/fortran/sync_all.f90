! sync all, sync memory and their stat; what was written before is read after.
program sync_statements
  implicit none
  integer :: a(100)[*], me, n, i, next, from, status
  character(40) :: message
  me = this_image()
  n = num_images()
  next = mod(me, n) + 1
  from = mod(me + n - 2, n) + 1
  do i = 1, 300
    a(:)[next] = me + i
    a(mod(i, 100) + 1)[next] = -i
    status = 99
    message = 'untouched'
    sync all (stat=status, errmsg=message)
    call check(status == 0 .and. message == 'untouched', 'stat of sync all')
    call check(count(a == from + i) == 99 .and. a(mod(i, 100) + 1) == -i, 'written before sync all')
    sync all
  end do
  a(1)[next] = me
  status = 99
  sync memory (stat=status, errmsg=message)
  call check(status == 0, 'stat of sync memory')
  call check(a(1)[next] == me, 'own write after sync memory')
  sync memory
  call passed
contains
  include 'check.inc'
end program
