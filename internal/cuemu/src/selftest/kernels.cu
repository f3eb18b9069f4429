// Kernels of the emulator's own test: right ones, and ones that are broken on purpose.
extern "C" __global__ void sum(const int* in, long long* out, long long n) {
  __shared__ long long part[8];
  long long v = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) v += in[i];
  for (int m = 16; m; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    long long all = 0;
    for (int i = 0; i < (int)(blockDim.x >> 5); i++) all += part[i];
    atomicAdd((unsigned long long*)out, (unsigned long long)all);
  }
}

// Each block waits for the one whose ticket came before: a look-back of one.
extern "C" __global__ void chain(unsigned* ticket, volatile unsigned* flags, int* out) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) mine = atomicAdd(ticket, 1u);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (mine > 0)
      while (flags[mine - 1] == 0) {
      }
    out[mine] = mine == 0 ? 1 : out[mine - 1] + 1;
    __threadfence();
    flags[mine] = 1;
  }
}

extern "C" __global__ void votes(unsigned* out) {
  unsigned lane = threadIdx.x & 31;
  unsigned odd = __ballot_sync(0xffffffffu, lane & 1);
  unsigned up = __shfl_up_sync(0xffffffffu, lane, 1), down = __shfl_down_sync(0xffffffffu, lane, 1), first = __shfl_sync(0xffffffffu, lane + 7, 0);
  unsigned half = 0;
  if (lane < 16) half = __ballot_sync(0x0000ffffu, lane == 3);
  bool any = __any_sync(0xffffffffu, lane == 9), all = __all_sync(0xffffffffu, lane < 32);
  int yes = __syncthreads_count(threadIdx.x % 3 == 0);
  bool right = odd == 0xaaaaaaaau && up == (lane ? lane - 1 : 0) && down == (lane < 31 ? lane + 1 : 31) && first == 7 &&
               (lane >= 16 || half == 8) && any && all && yes == (int)(blockDim.x + 2) / 3;
  atomicAdd(out, right ? 1u : 0u);
}

extern "C" __global__ void fill(int* out, long long n, int v) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = v;
}

// Half of the block never comes to the barrier.
extern "C" __global__ void broken_barrier(int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = (int)threadIdx.x;
  if (threadIdx.x < 128) __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
extern "C" __global__ void two_barriers(int* out) {
  if (threadIdx.x < 64) {
    __syncthreads();
  } else {
    out[threadIdx.x] = 1;
    __syncthreads();
  }
}
// The barrier between the write and the read is missing: the answer is wrong.
extern "C" __global__ void missing_barrier(int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = (int)threadIdx.x;
  out[threadIdx.x] = s[255 - threadIdx.x];
}
extern "C" __global__ void missing_lane(unsigned* out) {
  if ((threadIdx.x & 31) < 20) out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
  else
    while (*(volatile unsigned*)out != 12345) {
    }
}
extern "C" __global__ void wrong_mask(unsigned* out) { out[threadIdx.x] = __ballot_sync(1u, 1); }
extern "C" __global__ void overrun(int* out, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = 1;
}
extern "C" __global__ void misaligned(char* out) { *(int*)(out + 2) = 1; }
extern "C" __global__ void wait_for_ever(volatile unsigned* flag) {
  while (*flag == 0) {
  }
}
extern "C" __global__ void divide(int* out, int by) { out[0] = 7 / by; }
// Waits for the block before it by index: with blocks in any order that need not end.
extern "C" __global__ void in_order(volatile unsigned* flags) {
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0)
      while (flags[blockIdx.x - 1] == 0) {
      }
    flags[blockIdx.x] = 1;
  }
}
