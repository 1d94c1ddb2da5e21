! The accesses of one image keep their order, also where its writes complete later.
program access_order
  implicit none
  integer :: s(64)[*], x, me, np, k, i, r, v(8), y(8)
  character(4) :: c(100)[*], d(100)
  me = this_image(); np = num_images(); k = mod(me, np) + 1
  s = 0
  sync all
  do r = 1, 300
    s(3)[k] = r; x = s(3)[k]; if (x /= r) error stop 1
    s(5)[k] = 1; s(5)[k] = r + 1
    do i = 1, 64, 2
      s(i)[k] = r*i
    end do
    s(2:64:2)[k] = [(r*i, i=2,64,2)]
    if (s(64)[k] /= r*64) error stop 2
    s(1:8)[k] = -1
    v = [8,7,6,5,4,3,2,1]
    s(v)[k] = v*r
    y = s(1:8)[k]
    if (any(y /= [(r*i, i=1,8)])) error stop 3
    c(:)[k] = 'ab'
    c(1:100:3)[k] = 'xyz'
    d = c(:)[k]; if (any(d(1:100:3) /= 'xyz') .or. any(d(2:100:3) /= 'ab')) error stop 4
    s(10)[k] = -r
    s(20)[k] = s(10)[k]
    if (s(20)[k] /= -r) error stop 5
    do i = 1, 200
      s(40)[k] = i
    end do
    sync all
    if (s(40) /= 200) error stop 6
    if (s(20) /= -r .or. s(63) /= 63*r) error stop 7
    sync all
  end do
  sync all
  if (me == 1) print '(a)', 'passed'
end program
