// Devices and errors.
#include "runtime.h"

using namespace cuemu;

namespace {
std::atomic<bool> initialised{false};
const struct {
  int code;
  const char *name, *text;
} codes[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
bool isDevice(int d) { return d >= 0 && d < settings().devices; }
}  // namespace

#define NEED_INIT()                       \
  INJECT();                               \
  if (!initialised) return NotInitialized

CUEMU_EXPORT int cuInit(unsigned flags) {
  INJECT();
  if (flags) return InvalidValue;
  if (settings().devices < 1) return 100;
  initialised = true;
  return Success;
}
CUEMU_EXPORT int cuDriverGetVersion(int* v) {
  INJECT();
  *v = 12090;
  return Success;
}
CUEMU_EXPORT int cuGetErrorName(int code, const char** out) {
  for (auto& c : codes)
    if (c.code == code) return *out = c.name, Success;
  *out = nullptr;
  return InvalidValue;
}
CUEMU_EXPORT int cuGetErrorString(int code, const char** out) {
  for (auto& c : codes)
    if (c.code == code) return *out = c.text, Success;
  *out = nullptr;
  return InvalidValue;
}
CUEMU_EXPORT int cuDeviceGetCount(int* n) {
  NEED_INIT();
  *n = settings().devices;
  return Success;
}
CUEMU_EXPORT int cuDeviceGet(int* d, int ordinal) {
  NEED_INIT();
  if (!isDevice(ordinal)) return InvalidDevice;
  *d = ordinal;
  return Success;
}
CUEMU_EXPORT int cuDeviceGetName(char* name, int n, int d) {
  NEED_INIT();
  if (!isDevice(d) || n < 1) return InvalidDevice;
  snprintf(name, n, "emulated CUDA device");
  return Success;
}
CUEMU_EXPORT int cuDeviceGetUuid_v2(unsigned char* uuid, int d) {
  NEED_INIT();
  if (!isDevice(d)) return InvalidDevice;
  memset(uuid, 0, 16);
  memcpy(uuid, "cuemu", 5);
  uuid[15] = (unsigned char)d;
  return Success;
}
CUEMU_EXPORT int cuDeviceGetUuid(unsigned char* uuid, int d) { return cuDeviceGetUuid_v2(uuid, d); }
CUEMU_EXPORT int cuDeviceGetPCIBusId(char* s, int n, int d) {
  NEED_INIT();
  if (!isDevice(d)) return InvalidDevice;
  snprintf(s, n, "0000:%02x:00.0", d + 1);
  return Success;
}
CUEMU_EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int d) {
  NEED_INIT();
  if (!isDevice(d)) return InvalidDevice;
  *bytes = settings().memory;
  return Success;
}
CUEMU_EXPORT int cuDeviceGetAttribute(int* v, int attribute, int d) {
  NEED_INIT();
  if (!isDevice(d)) return InvalidDevice;
  static const std::map<int, int> values = {
      {1, 1024}, {2, 1024}, {3, 1024}, {4, 64},     // threads per block; block x, y, z
      {5, 0x7fffffff}, {6, 65535}, {7, 65535},      // grid x, y, z
      {8, 49152}, {9, 65536}, {10, 32}, {11, 1 << 30}, {12, 65536}, // shared memory, constant memory, warp, pitch, registers
      {13, 1000000}, {14, 512}, {15, 1}, {16, 4},   // clock, texture alignment, overlap, multiprocessors
      {17, 0}, {18, 0}, {19, 1}, {20, 0}, {31, 1}, {32, 0}, {33, 0}, {34, 0}, {35, 0}, // timeout, integrated, map host, mode, concurrent, ECC, PCI
      {36, 1000000}, {37, 256}, {38, 1 << 20},      // memory clock and bus, L2
      {39, 2048}, {40, 2}, {41, 1}, {78, 1},        // threads per multiprocessor, copy engines, unified addressing, priorities
      {79, 1}, {80, 1}, {81, 49152}, {82, 65536}, {83, 1}, {86, 1}, {88, 1}, {89, 1}, {90, 0}, {91, 1}, {95, 0},
      {97, 49152}, {102, 0}, {103, 0}, {106, 32}, {115, 1}, // opt-in shared memory, virtual memory, blocks per multiprocessor, memory pools
  };
  if (attribute == 33) return *v = d + 1, Success;
  if (attribute == 75) return *v = settings().capability / 10, Success;
  if (attribute == 76) return *v = settings().capability % 10, Success;
  auto it = values.find(attribute);
  *v = it == values.end() ? 0 : it->second;
  return attribute < 1 || attribute > 150 ? InvalidValue : Success;
}
CUEMU_EXPORT int cuDeviceCanAccessPeer(int* can, int d, int peer) {
  NEED_INIT();
  if (!isDevice(d) || !isDevice(peer)) return InvalidDevice;
  const char* s = getenv("CUEMU_PEERS");
  *can = d != peer && !(s && !strcmp(s, "0"));
  return Success;
}
