! Reads, writes and transfers through allocatable and pointer components, short and long.
program access_components
  implicit none
  type u
    integer :: m
    real(8), allocatable :: g(:,:)
  end type
  type t
    integer :: k
    integer :: n(4)
    integer, allocatable :: a(:)
    real, allocatable :: s
    type(u) :: uu
    type(u), allocatable :: ua(:)
  end type
  type t2
    integer :: k, n(4), nn(4,0:6)
    integer, allocatable :: a(:)
  end type
  type t3
    integer :: k
    real(8), pointer :: pp(:)
    real(8), pointer :: ps
  end type
  type(t) :: d[*]
  type(t2), allocatable :: c(:)[:]
  type(t3) :: d3[*]
  integer, allocatable :: b(:), big(:)
  integer :: i, j, k, me, np, bb(4), v(3)
  real(8), target :: tgt(5), ts
  real(8), allocatable :: gg(:,:)
  real(8), allocatable :: xa(:)[:], ya(:)
  real(4), allocatable :: r4(:)
  integer, allocatable :: vv(:)
  type w
    integer, allocatable :: z(:)
  end type
  type(w) :: e[*]
  me = this_image(); np = num_images(); k = mod(me, np) + 1
  allocate(c(2:4)[*]); allocate(xa(0:9)[*])
  do i = 2, 4
    c(i)%k = me*10+i; c(i)%n = me*100 + i*10 + [1,2,3,4]
    allocate(c(i)%a(i)); c(i)%a = me*1000 + i*10 + [(j, j=1,i)]
    do j = 0, 6; c(i)%nn(:,j) = me*1000+i*100+j*10+[1,2,3,4]; end do
  end do
  xa = me + [(i, i=0,9)]*0.5d0
  allocate(d%a(-1:3)); d%a = me*10+[1,2,3,4,5]
  allocate(d%s); d%s = me + 0.5
  d%k = me; d%n = me*[1,2,3,4]; d%uu%m = 7*me
  allocate(d%ua(2)); allocate(d%ua(2)%g(2,0:3)); do j=0,3; d%ua(2)%g(:,j) = me*100+j*10+[1,2]; end do
  tgt = me*[1,2,3,4,5]; ts = me + .25d0
  d3%pp => tgt(5:1:-2); d3%ps => ts; d3%k = me
  allocate(e%z(200000)); e%z = me + [(i, i=1,200000)]
  sync all
  b = d[k]%a;            if (any(b /= k*10+[1,2,3,4,5]) .or. size(b) /= 5) error stop 1
  b = d[k]%a(0:2);       if (any(b /= k*10+[2,3,4]) .or. size(b) /= 3) error stop 2
  bb(1) = d[k]%a(2);     if (bb(1) /= k*10+4) error stop 3
  bb(2) = d[k]%k;        if (bb(2) /= k) error stop 4
  bb = d[k]%n;           if (any(bb /= k*[1,2,3,4])) error stop 5
  bb(1:2) = d[k]%n(2:4:2); if (any(bb(1:2) /= k*[2,4])) error stop 6
  if (d[k]%s /= k+0.5) error stop 7
  if (d[k]%uu%m /= 7*k) error stop 8
  gg = d[k]%ua(2)%g;     if (any(shape(gg) /= [2,4])) error stop 9
  do j=0,3; if (any(gg(:,j+1) /= k*100+j*10+[1,2])) error stop 10; end do
  ya = d[k]%ua(2)%g(1,1:); if (any(ya /= k*100+[11,21,31])) error stop 11
  ya = d[k]%ua(2)%g(2,:2); if (any(ya /= k*100+[2,12,22])) error stop 12
  v = [3,-1,0]
  b = d[k]%a(v);         if (any(b /= k*10+[5,1,2])) error stop 13
  b = d[k]%a(3:-1:-2);   if (any(b /= k*10+[5,3,1])) error stop 14
  if (.not. allocated(d[k]%a)) error stop 15
  if (allocated(d[k]%uu%g)) error stop 16
  if (.not. allocated(d[k]%ua(2)%g) .or. allocated(d[k]%ua(1)%g)) error stop 17
  b = c(:)[k]%k;         if (any(b /= k*10+[2,3,4])) error stop 18
  b = c(3:4)[k]%n(2);    if (any(b /= k*100+[32,42])) error stop 19
  b = c(3)[k]%n;         if (any(b /= k*100+30+[1,2,3,4])) error stop 20
  b = c(4)[k]%a(2:4);    if (any(b /= k*1000+40+[2,3,4])) error stop 21
  b = c(4)[k]%nn(2,1:5:2); if (any(b /= k*1000+402+[10,30,50])) error stop 22
  if (d3[k]%pp(2) /= 3*k) error stop 23
  ya = d3[k]%pp;         if (any(ya /= k*[5,3,1])) error stop 24
  if (d3[k]%ps /= k+.25d0) error stop 25
  ya = xa(:)[k];         if (any(ya /= k + [(i, i=0,9)]*0.5d0) .or. lbound(ya,1) /= 1) error stop 26
  ya(:) = xa(:)[k];      if (any(ya /= k + [(i, i=0,9)]*0.5d0)) error stop 27
  r4 = xa(:)[k];         if (any(r4 /= k + [(i, i=0,9)]*0.5)) error stop 28
  big = e[k]%z;          if (size(big) /= 200000) error stop 29
  if (any(big /= k + [(i, i=1,200000)])) error stop 30
  big = e[k]%z(200000:1:-3); if (any(big /= k + [(i, i=200000,1,-3)])) error stop 31
  vv = [(mod(i*7919, 200000)+1, i=1,20000)]
  big = e[k]%z(vv);      if (any(big /= k + vv)) error stop 32
  sync all
  ! writes
  d[k]%a(3) = -me
  d[k]%a(-1:0) = [me, me+1]
  d[k]%s = 100.0*me
  d[k]%n(2:3) = [-me, -2*me]
  d[k]%uu%m = me
  d[k]%ua(2)%g(1,:) = me
  d[k]%ua(2)%g(2,2:3) = [me+.5d0, me+1.5d0]
  c(3)[k]%n = me
  c(4)[k]%a([4,1,2]) = [me, 2*me, 3*me]
  d3[k]%pp(1:2) = [me*1d0, me*2d0]
  d3[k]%ps = -me
  xa(2:4)[k] = -me
  e[k]%z = me
  e[k]%z(vv) = vv
  sync all
  k = mod(me-2+np, np) + 1
  if (any(d%a /= [k, k+1, me*10+3, me*10+4, -k])) error stop 40
  if (d%s /= 100*k .or. any(d%n /= [me, -k, -2*k, 4*me]) .or. d%uu%m /= k) error stop 41
  if (any(d%ua(2)%g(1,:) /= k) .or. any(d%ua(2)%g(2,:) /= [me*100+2d0, me*100+12d0, k+.5d0, k+1.5d0])) error stop 42
  if (any(c(3)%n /= k) .or. any(c(4)%a /= [2*k, 3*k, me*1000+43, me*1000+44])) then
    if (any(c(4)%a([1,2]) /= [2*k, 3*k])) error stop 43
  end if
  if (any(tgt /= [me*1d0, 2d0*me, 2d0*k, 4d0*me, 1d0*k]) .or. ts /= -k) error stop 44
  if (any(xa(2:4) /= -k)) error stop 45
  do i = 1, 200000; if (e%z(i) /= k .and. e%z(i) /= i) error stop 46; end do
  do i = 1, 20000; if (e%z(vv(i)) /= vv(i)) error stop 47; end do
  sync all
  ! transfers
  k = mod(me, np) + 1
  j = mod(k, np) + 1
  d%n = me*[1,2,3,4]; d%a = me*10+[1,2,3,4,5]
  sync all
  d[k]%a(0:2) = d[j]%n(2:4)
  c(2)[k]%k = d[j]%n(3)
  sync all
  k = mod(me-2+np, np) + 1; j = mod(me,np)+1
  if (any(d%a(0:2) /= j*[2,3,4])) error stop 50
  if (c(2)%k /= j*3) error stop 51
  sync all
  deallocate(d%a, d%s)
  sync all
  if (allocated(d[k]%a)) error stop 52
  sync all
  deallocate(c)
  sync all
  if (me == 1) print '(a)', 'passed'
end program
