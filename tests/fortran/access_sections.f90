! Sections, vector subscripts, conversions and overlaps in reads, writes and transfers.
program access_sections
  implicit none
  integer :: a(10,10)[*], l(10,10), me, np, i, j, k, v(3), w(2)
  integer(8) :: l8(10,10)
  real(4) :: r4(5)[*]
  real(8) :: r8(5), e(0:4, 5:9)[*]
  real(10) :: r10(5)[*]
  real(16) :: r16(5), q(5)[*]
  complex(8) :: z(6)[*], zl(3)
  character(len=5) :: c(4)[*], cl(4)
  character(len=3) :: c3(4)
  character(len=7) :: c7
  character(kind=4,len=4) :: u(2)[*]
  logical(1) :: b1(4)[*]
  logical(8) :: b8(4)
  integer(1) :: v1(3)
  type t
    integer :: k
    real(8) :: f(3)
  end type
  type(t) :: d[*], da(4)[*], dl
  me = this_image(); np = num_images()
  do j = 1, 10; do i = 1, 10; a(i,j) = me*1000 + i*10 + j; end do; end do
  r4 = me + [1.5,2.5,3.5,4.5,5.5]; r10 = me + [1,2,3,4,5]/3.0_10; q = me + [1,2,3,4,5]/7.0_16
  do i = 1, 6; z(i) = cmplx(me*i, -i, 8); end do
  do i = 1, 4; write(c(i), '(a,i0,a,i0)') 'c', me, 'x', i; end do
  u(1) = 4_'wide'; u(2) = 4_'x'
  b1 = [.true., .false., .true., me == 1]
  do j = 5, 9; do i = 0, 4; e(i,j) = me*100 + i*10 + j; end do; end do
  d%k = me; d%f = me*[1,2,3]
  do i = 1, 4; da(i)%k = me*10+i; da(i)%f = me*10+i+[.1d0,.2d0,.3d0]; end do
  sync all
  k = mod(me, np) + 1
  l = a(:,:)[k]; do j=1,10; do i=1,10; if (l(i,j) /= k*1000+i*10+j) error stop 1; end do; end do
  l = 0; l(2:4,3:9:2) = a(4:2:-1, 9:3:-2)[k]
  do j=3,9,2; do i=2,4; if (l(i,j) /= k*1000+(6-i)*10+12-j) error stop 2; end do; end do
  l8(:, 1) = a(3,:)[k]; if (any(l8(:,1) /= k*1000+30+[1,2,3,4,5,6,7,8,9,10])) error stop 3
  v = [7,2,5]; w = [10, 1]; v1 = [3_1, 1_1, 2_1]
  l(1:3,1:2) = a(v, w)[k]
  do j=1,2; do i=1,3; if (l(i,j) /= k*1000+v(i)*10+w(j)) error stop 4; end do; end do
  l(1:3,1) = a(v,6)[k]; if (any(l(1:3,1) /= k*1000+v*10+6)) error stop 5
  l(1:2,1:3) = a(1:5:4,v)[k]
  do j=1,3; do i=1,2; if (l(i,j) /= k*1000+(1+4*(i-1))*10+v(j)) error stop 6; end do; end do
  r8(1:3) = e(v1, 7)[k]; if (any(r8(1:3) /= k*100 + v1*10 + 7)) error stop 7
  r8(1:2) = e(4, [9,5])[k]; if (any(r8(1:2) /= k*100 + 40 + [9,5])) error stop 8
  r8 = r4(:)[k]; if (any(r8 /= k + [1.5,2.5,3.5,4.5,5.5])) error stop 9
  r16 = r10(:)[k]; if (any(r16 /= real(k + [1,2,3,4,5]/3.0_10, 16))) error stop 10
  r8 = q(:)[k]; if (any(r8 /= real(k + [1,2,3,4,5]/7.0_16, 8))) error stop 11
  r8(1:3) = z(2:6:2)[k]%re; if (any(r8(1:3) /= k*[2,4,6])) error stop 12
  zl = z(6:2:-2)[k]; if (any(zl /= cmplx(k*[6,4,2], -[6,4,2], 8))) error stop 13
  c3 = c(:)[k]; cl = c(:)[k]
  do i = 1, 4; write(c7, '(a,i0,a,i0)') 'c', k, 'x', i; if (cl(i) /= c7) error stop 14; if (c3(i) /= c7(1:3)) error stop 15; end do
  c7 = c(2)[k]; if (c7(5:7) /= '   ') error stop 16
  c7 = c(2)[k](2:3); if (c7(2:2) /= 'x') error stop 17
  b8 = b1(:)[k]; if (any(b8 .neqv. [.true., .false., .true., k==1])) error stop 18
  dl = d[k]; if (dl%k /= k .or. any(dl%f /= k*[1,2,3])) error stop 19
  if (d[k]%f(2) /= 2*k) error stop 20
  if (da(3)[k]%f(2) /= k*10+3.2d0) error stop 21
  sync all
  ! writes
  a(:,1)[k] = me
  a(2:10:2, 3:5)[k] = reshape([(me*10000_8+i, i=1,15)], [5,3])
  a(v, w)[k] = reshape([(me*100+i, i=1,6)], [3,2])
  a(v, 2)[k] = -me
  r4(2:4)[k] = [1d0*me, 2d0*me, 3d0*me]
  q(1:5:2)[k] = me
  z(1:2)[k]%im = 5.0
  c(2:3)[k] = 'ab'
  u(2)[k] = 'hi'
  b1(1:2)[k] = .false._8
  d[k]%f(3) = me + 0.5
  da(2:3)[k]%k = [me, me+1]
  sync all
  k = mod(me-2+np, np) + 1
  if (a(1,1) /= k .and. a(1,1) /= 0) error stop 30
  do j=3,5; do i=1,5; if (a(2*i,j) /= k*10000+(j-3)*5+i) error stop 31; end do; end do
  do j=1,2; do i=1,3; if (a(v(i),w(j)) /= k*100+(j-1)*3+i) error stop 32; end do; end do
  if (any(a(v,2) /= -k)) error stop 33
  if (any(r4 /= [me+1.5, 1.0*k, 2.0*k, 3.0*k, me+5.5])) error stop 34
  if (any(q(1:5:2) /= k)) error stop 35
  if (c(2) /= 'ab   ' .or. c(1)(1:1) /= 'c') error stop 36
  if (u(2) /= 4_'hi  ') error stop 37
  if (any(b1(1:2))) error stop 38
  if (d%f(3) /= k+0.5 .or. d%f(2) /= 2*me) error stop 39
  if (da(2)%k /= k .or. da(3)%k /= k+1 .or. da(4)%k /= me*10+4) error stop 40
  sync all
  ! transfers
  do j = 1, 10; do i = 1, 10; a(i,j) = me*1000 + i*10 + j; end do; end do
  sync all
  i = mod(me, np) + 1
  e(:,5)[i] = r4(:)[k]
  a(v,9)[i] = a(1:3,7)[k]
  sync all
  i = mod(me-2+np,np)+1
  i = mod(i-2+np,np)+1
  if (any(a(v,9) /= i*1000 + [10,20,30] + 7)) error stop 50
  ! overlap with oneself
  do i = 1, 10; a(i,1) = i; end do
  a(2:10,1)[me] = a(1:9,1)[me]
  if (any(a(:,1) /= [1,1,2,3,4,5,6,7,8,9])) error stop 51
  a(10:1:-1,1)[me] = a(:,1)
  if (any(a(:,1) /= [9,8,7,6,5,4,3,2,1,1])) error stop 52
  a(1:9,1) = a(2:10,1)[me]
  if (any(a(:,1) /= [8,7,6,5,4,3,2,1,1,1])) error stop 53
  sync all
  sync all
  if (me == 1) print '(a)', 'passed'
end program
