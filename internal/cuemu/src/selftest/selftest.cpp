// selftest CHECK: drives the emulated driver through one check and ends with status 0 when all was as it should be.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
typedef unsigned long long Ptr;
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxPushCurrent_v2(void*);
int cuCtxPopCurrent_v2(void**);
int cuCtxSynchronize();
int cuCtxEnablePeerAccess(void*, unsigned);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamSynchronize(void*);
int cuStreamQuery(void*);
int cuStreamWaitEvent(void*, void*, unsigned);
int cuEventCreate(void**, unsigned);
int cuEventDestroy_v2(void*);
int cuEventRecord(void*, void*);
int cuEventSynchronize(void*);
int cuEventElapsedTime(float*, void*, void*);
int cuLaunchHostFunc(void*, void (*)(void*), void*);
int cuMemAlloc_v2(Ptr*, size_t);
int cuMemFree_v2(Ptr);
int cuMemAllocAsync(Ptr*, size_t, void*);
int cuMemFreeAsync(Ptr, void*);
int cuMemHostAlloc(void**, size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemHostRegister_v2(void*, size_t, unsigned);
int cuMemHostUnregister(void*);
int cuMemGetInfo_v2(size_t*, size_t*);
int cuMemcpyHtoD_v2(Ptr, const void*, size_t);
int cuMemcpyDtoH_v2(void*, Ptr, size_t);
int cuMemcpyHtoDAsync_v2(Ptr, const void*, size_t, void*);
int cuMemcpyDtoHAsync_v2(void*, Ptr, size_t, void*);
int cuMemcpyPeerAsync(Ptr, void*, Ptr, void*, size_t, void*);
int cuMemsetD8Async(Ptr, unsigned char, size_t, void*);
int cuModuleLoadDataEx(void**, const void*, unsigned, int*, void**);
int cuModuleGetFunction(void**, void*, const char*);
int cuModuleUnload(void*);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cuemuFail(const char*, int, int);
long long cuemuCount(const char*);
int nvrtcCreateProgram(void**, const char*, const char*, int, const char**, const char**);
int nvrtcCompileProgram(void*, int, const char**);
int nvrtcDestroyProgram(void**);
int nvrtcGetPTXSize(void*, size_t*);
int nvrtcGetPTX(void*, char*);
int nvrtcGetProgramLogSize(void*, size_t*);
int nvrtcGetProgramLog(void*, char*);
}

static void want(bool ok, const char* what, int line) {
  if (ok) return;
  fprintf(stderr, "line %d: %s\n", line, what);
  exit(1);
}
#define WANT(x) want((x), #x, __LINE__)
#define OK(x) WANT((x) == 0)

static std::string kernels; // CUDA C
static void *context, *module;

static std::string compile(const std::string& text, const char* name, std::string* log, int* code) {
  void* p;
  OK(nvrtcCreateProgram(&p, text.c_str(), name, 0, nullptr, nullptr));
  const char* options[] = {"--gpu-architecture=compute_70", "-DUNUSED=1"};
  *code = nvrtcCompileProgram(p, 2, options);
  size_t n;
  OK(nvrtcGetProgramLogSize(p, &n));
  std::vector<char> b(n);
  OK(nvrtcGetProgramLog(p, b.data()));
  *log = b.data();
  std::string ptx;
  if (*code == 0) {
    OK(nvrtcGetPTXSize(p, &n));
    b.resize(n);
    OK(nvrtcGetPTX(p, b.data()));
    ptx = b.data();
  }
  OK(nvrtcDestroyProgram(&p));
  return ptx;
}

static void* function(const char* name) {
  void* f;
  OK(cuModuleGetFunction(&f, module, name));
  return f;
}

static int launch(const char* name, unsigned groups, unsigned items, std::vector<void*> params, void* stream = nullptr) {
  return cuLaunchKernel(function(name), groups, 1, 1, items, 1, 1, 0, stream, params.data(), nullptr);
}

static Ptr zeros(size_t n) {
  Ptr p;
  OK(cuMemAlloc_v2(&p, n));
  std::vector<char> z(n);
  OK(cuMemcpyHtoD_v2(p, z.data(), n));
  return p;
}

static void open() {
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxPushCurrent_v2(context));
  std::string log;
  int code;
  std::string ptx = compile(kernels, "kernels.cu", &log, &code);
  if (code) fprintf(stderr, "%s\n", log.c_str());
  OK(code);
  OK(cuModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr));
}

static std::map<std::string, std::function<void()>> checks = {
    {"sum", [] {
       const long long n = 100003;
       std::vector<int> in(n);
       long long expect = 0, got = 0;
       for (long long i = 0; i < n; i++) expect += in[i] = (int)(i * 7 % 1001) - 500;
       Ptr a = zeros(n * 4), b = zeros(8);
       OK(cuMemcpyHtoD_v2(a, in.data(), n * 4));
       long long rows = n;
       OK(launch("sum", 13, 256, {&a, &b, &rows}));
       OK(cuMemcpyDtoH_v2(&got, b, 8));
       WANT(got == expect);
     }},
    {"chain", [] {
       const unsigned blocks = 300;
       Ptr t = zeros(4), f = zeros(4 * blocks), o = zeros(4 * blocks);
       OK(launch("chain", blocks, 64, {&t, &f, &o}));
       std::vector<int> got(blocks);
       OK(cuMemcpyDtoH_v2(got.data(), o, 4 * blocks));
       for (unsigned i = 0; i < blocks; i++) WANT(got[i] == (int)i + 1);
     }},
    {"votes", [] {
       Ptr o = zeros(4);
       OK(launch("votes", 5, 128, {&o}));
       unsigned got;
       OK(cuMemcpyDtoH_v2(&got, o, 4));
       WANT(got == 640);
     }},
    {"broken_barrier", [] {
       Ptr o = zeros(1024);
       OK(launch("broken_barrier", 3, 256, {&o}));
       WANT(cuCtxSynchronize() == 719);
       int got;
       WANT(cuMemcpyDtoH_v2(&got, o, 4) == 719);
     }},
    {"two_barriers", [] {
       Ptr o = zeros(1024);
       OK(launch("two_barriers", 1, 128, {&o}));
       WANT(cuCtxSynchronize() == 719);
     }},
    {"missing_barrier", [] {
       int wrong = 0;
       for (int run = 0; run < 3; run++) {
         Ptr o = zeros(1024);
         OK(launch("missing_barrier", 1, 256, {&o}));
         std::vector<int> got(256);
         OK(cuMemcpyDtoH_v2(got.data(), o, 1024));
         for (int i = 0; i < 256; i++) wrong += got[i] != 255 - i;
       }
       WANT(wrong > 0);
     }},
    {"missing_lane", [] {
       Ptr o = zeros(1024);
       OK(launch("missing_lane", 1, 64, {&o}));
       int code = cuCtxSynchronize();
       WANT(code == 702 || code == 719);
     }},
    {"wrong_mask", [] {
       Ptr o = zeros(1024);
       OK(launch("wrong_mask", 1, 64, {&o}));
       WANT(cuCtxSynchronize() == 719);
     }},
    {"overrun", [] {
       long long n = 1000;
       Ptr o = zeros(n * 4);
       OK(launch("overrun", 8, 256, {&o, &n}));
       WANT(cuCtxSynchronize() == 700);
     }},
    {"use_after_free", [] {
       long long n = 1000;
       int v = 3;
       Ptr o = zeros(n * 4);
       OK(cuMemFree_v2(o));
       OK(launch("fill", 8, 256, {&o, &n, &v}));
       WANT(cuCtxSynchronize() == 700);
     }},
    {"misaligned", [] {
       Ptr o = zeros(64);
       OK(launch("misaligned", 1, 1, {&o}));
       WANT(cuCtxSynchronize() == 716);
     }},
    {"null", [] {
       long long n = 1;
       int v = 3;
       Ptr o = 0;
       OK(launch("fill", 1, 1, {&o, &n, &v}));
       WANT(cuCtxSynchronize() == 700);
     }},
    {"wait_for_ever", [] {
       Ptr o = zeros(4);
       OK(launch("wait_for_ever", 2, 64, {&o}));
       WANT(cuCtxSynchronize() == 702);
     }},
    {"in_order", [] {
       Ptr o = zeros(4 * 64);
       OK(launch("in_order", 64, 32, {&o}));
       WANT(cuCtxSynchronize() == 702);
     }},
    {"divide", [] {
       Ptr o = zeros(4);
       int by = 0;
       OK(launch("divide", 1, 1, {&o, &by}));
       WANT(cuCtxSynchronize() == 719);
     }},
    {"poison", [] {
       Ptr o;
       OK(cuMemAlloc_v2(&o, 100));
       unsigned char got[100];
       OK(cuMemcpyDtoH_v2(got, o, 100));
       for (auto b : got) WANT(b == 0xAB);
       WANT(cuMemcpyDtoH_v2(got, o, 101) == 1);
       WANT(o % 256 == 0);
     }},
    {"limits", [] {
       long long n = 1;
       int v = 1;
       Ptr o = zeros(4);
       WANT(launch("fill", 1, 1025, {&o, &n, &v}) == 1);
       WANT(launch("fill", 0, 1, {&o, &n, &v}) == 1);
       Ptr big;
       size_t available, total;
       OK(cuMemGetInfo_v2(&available, &total));
       WANT(cuMemAlloc_v2(&big, available + 1) == 2);
       OK(cuMemAlloc_v2(&big, available / 2));
       OK(cuMemFree_v2(big));
     }},
    {"failures", [] {
       Ptr o;
       cuemuFail("cuMemAlloc_v2", 2, 2);
       OK(cuMemAlloc_v2(&o, 10));
       WANT(cuMemAlloc_v2(&o, 10) == 2);
       OK(cuMemAlloc_v2(&o, 10));
       cuemuFail("execute", 1, 719);
       o = zeros(4);
       long long n = 1;
       int v = 1;
       OK(launch("fill", 1, 1, {&o, &n, &v}));
       WANT(cuCtxSynchronize() == 719);
       WANT(cuMemAlloc_v2(&o, 10) == 719);
     }},
    {"streams", [] {
       // A stream is held by a function of the host until this thread lets it go: nothing behind it may be done before.
       static volatile bool go = false;
       void *a, *b, *e, *f;
       OK(cuStreamCreate(&a, 1));
       OK(cuStreamCreate(&b, 1));
       OK(cuEventCreate(&e, 0));
       OK(cuEventCreate(&f, 0));
       Ptr d = zeros(64);
       int* pinned;
       OK(cuMemHostAlloc((void**)&pinned, 64, 0));
       pinned[0] = 1;
       int pageable = 5;
       OK(cuEventRecord(f, a));
       OK(cuEventSynchronize(f));  // its time is that of the stream's thread, which may come late
       OK(cuLaunchHostFunc(a, [](void*) { while (!go) usleep(100); }, nullptr));
       OK(cuMemcpyHtoDAsync_v2(d, pinned, 4, a));
       OK(cuMemcpyHtoDAsync_v2(d + 4, &pageable, 4, a));
       OK(cuEventRecord(e, a));
       OK(cuStreamWaitEvent(b, e, 0));
       OK(cuMemcpyDtoHAsync_v2(pinned + 2, d, 8, b));
       usleep(20000);
       WANT(cuStreamQuery(a) == 600 && cuStreamQuery(b) == 600);
       WANT((unsigned)pinned[2] == 0xABABABABu);
       pinned[0] = 2;  // read late, so the new value arrives
       pageable = 6;   // read at once, so it does not
       go = true;
       OK(cuStreamSynchronize(b));
       WANT(pinned[2] == 2 && pinned[3] == 5);
       float ms;
       OK(cuEventElapsedTime(&ms, f, e));
       WANT(ms >= 15);
       Ptr late;
       OK(cuMemAllocAsync(&late, 4000, a));
       OK(cuMemsetD8Async(late, 7, 4000, a));
       OK(cuMemFreeAsync(late, a));
       OK(cuStreamSynchronize(a));
       WANT(cuMemsetD8Async(late, 7, 4000, a) == 1);
       int* host = (int*)malloc(4096);
       OK(cuMemHostRegister_v2(host, 4096, 0));
       Ptr mapped = (Ptr)host;
       long long n = 4;
       int v = 9;
       OK(launch("fill", 1, 4, {&mapped, &n, &v}));
       OK(cuCtxSynchronize());
       WANT(host[3] == 9);
       OK(cuMemHostUnregister(host));
       OK(cuMemFreeHost(pinned));
       OK(cuEventDestroy_v2(e));
       WANT(cuEventDestroy_v2(e) == 400);
       OK(cuStreamDestroy_v2(a));
       WANT(cuStreamSynchronize(a) == 400);
     }},
    {"peers", [] {
       void* other;
       OK(cuDevicePrimaryCtxRetain(&other, 1));
       OK(cuCtxPushCurrent_v2(other));
       Ptr there = zeros(64);
       OK(cuCtxPushCurrent_v2(context));
       Ptr here = zeros(64);
       OK(cuMemsetD8Async(here, 3, 64, nullptr));
       OK(cuMemcpyPeerAsync(there, other, here, context, 64, nullptr));
       unsigned char got[64];
       OK(cuMemcpyDtoH_v2(got, there, 64));
       WANT(got[63] == 3);
       OK(cuCtxEnablePeerAccess(other, 0));
       long long n = 4;
       int v = 9;
       OK(launch("fill", 1, 4, {&there, &n, &v}));
       OK(cuCtxSynchronize());
       OK(cuCtxPushCurrent_v2(other));
       void* m;
       WANT(cuModuleLoadDataEx(&m, "not PTX", 0, nullptr, nullptr) == 218);
     }},
    {"no_peer", [] {
       void* other;
       OK(cuDevicePrimaryCtxRetain(&other, 1));
       OK(cuCtxPushCurrent_v2(other));
       Ptr there = zeros(64);
       OK(cuCtxPushCurrent_v2(context));
       long long n = 4;
       int v = 9;
       OK(launch("fill", 1, 4, {&there, &n, &v}));
       WANT(cuCtxSynchronize() == 700);
     }},
    {"modules", [] {
       char log[512] = "";
       int options[] = {5, 6};
       void* values[] = {log, (void*)sizeof log};
       void* m;
       const char* none = "//\n.version 8.0\n.target sm_70\n.address_size 64\n.visible .entry nobody(\n\t.param .u64 nobody_param_0\n)\n{\n\tret;\n}\n";
       WANT(cuModuleLoadDataEx(&m, none, 2, options, values) == 218);
       WANT(strstr(log, "nobody") != nullptr);
       std::string l, ptx;
       int code;
       ptx = compile("extern \"C\" __global__ void one(int* p, unsigned v) { *p = v; }", "one.cu", &l, &code);
       size_t at = ptx.find(".u32");
       WANT(at != std::string::npos);
       ptx.replace(at, 4, ".u64");
       values[1] = (void*)sizeof log;
       WANT(cuModuleLoadDataEx(&m, ptx.c_str(), 2, options, values) == 218);
       WANT(strstr(log, "parameter 1 has 8 bytes in PTX and 4 on the host") != nullptr);
       compile("\n\nextern \"C\" __global__ void bad(int* p) {\n  *p = nothing;\n}", "user.cu", &l, &code);
       WANT(code == 6);
       WANT(l.find("user.cu(4): error:") != std::string::npos);
       void* f = function("sum");
       (void)f;
       OK(cuModuleUnload(module));
       WANT(cuModuleUnload(module) == 400);
       WANT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == 400);
     }},
    {"ending", [] {
       for (int i = 0; i < 200; i++) {
         void *own, *s;
         Ptr p;
         OK(cuDevicePrimaryCtxRetain(&own, 1));
         OK(cuCtxPushCurrent_v2(own));
         OK(cuStreamCreate(&s, 1));
         OK(cuMemAllocAsync(&p, 5000, s));
         for (int k = 0; k < 20; k++) OK(cuMemsetD8Async(p, k, 5000, s));
         OK(cuMemFreeAsync(p, s));
         OK(cuStreamDestroy_v2(s));
         OK(cuCtxPopCurrent_v2(&own));
         OK(cuDevicePrimaryCtxRelease_v2(1));
       }
       WANT(cuemuCount("allocations") == 0);
     }},
    {"cycles", [] {
       for (int i = 0; i < 2000; i++) {
         void *s, *e;
         Ptr p;
         OK(cuStreamCreate(&s, 1));
         OK(cuEventCreate(&e, 0));
         OK(cuMemAllocAsync(&p, 5000, s));
         OK(cuMemsetD8Async(p, 1, 5000, s));
         OK(cuEventRecord(e, s));
         OK(cuMemFreeAsync(p, s));
         OK(cuEventSynchronize(e));
         OK(cuEventDestroy_v2(e));
         OK(cuStreamSynchronize(s));
         OK(cuStreamDestroy_v2(s));
       }
       WANT(cuemuCount("streams") == 0 && cuemuCount("events") == 0 && cuemuCount("allocations") == 0 && cuemuCount("bytes") == 0);
       OK(cuDevicePrimaryCtxRelease_v2(0));
       WANT(cuemuCount("contexts") == 0 && cuemuCount("modules") == 0);
     }},
};

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE* f = fopen(argv[1], "rb");
  WANT(f != nullptr);
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;) kernels.append(buffer, n);
  fclose(f);
  auto it = checks.find(argv[2]);
  WANT(it != checks.end());
  open();
  it->second();
  fflush(nullptr);
  _exit(0);
}
