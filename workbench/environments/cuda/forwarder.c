/* The part of libcuda.so.1 that libtvm.so calls, forwarded to the real driver if there is one.
 *
 * libtvm.so was linked against libcuda.so.1, which comes with the driver, so without a driver it could not even be
 * loaded. A stub named libcuda.so.1 would mend that but hide a real driver. This library has a name of its own, takes
 * the driver's place in libtvm.so's list of needed libraries, and looks for the driver when a function is called.
 */
#include <dlfcn.h>
#include <stddef.h>

/* From cuda.h, which a machine without the toolkit does not have. */
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUfunction, *CUmodule, *CUstream;
enum { CUDA_SUCCESS = 0, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_NOT_FOUND = 500 };

/* No lock: threads that come here together get the same handle, and store the same pointer. */
static void *driver(void) {
  static void *handle;
  if (!handle) handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return handle;
}

/* Every function but cuGetErrorName, which has an answer of its own when there is no driver. */
#define FORWARDED(FORWARD)                                                                                   \
  FORWARD(cuDeviceGetName, (char *name, int length, CUdevice device), (name, length, device))                \
  FORWARD(cuFuncSetAttribute, (CUfunction function, int attribute, int value), (function, attribute, value)) \
  FORWARD(cuLaunchKernel,                                                                                    \
          (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,         \
           unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters,    \
           void **extra),                                                                                    \
          (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,    \
           extra))                                                                                           \
  FORWARD(cuMemsetD32_v2, (CUdeviceptr target, unsigned value, size_t count), (target, value, count))        \
  FORWARD(cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name),                    \
          (function, module, name))                                                                          \
  FORWARD(cuModuleGetGlobal_v2, (CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name),    \
          (pointer, bytes, module, name))                                                                    \
  FORWARD(cuModuleLoadData, (CUmodule *module, const void *image), (module, image))                          \
  FORWARD(cuModuleUnload, (CUmodule module), (module))

#define DEFINE(name, parameters, arguments)                                   \
  CUresult name parameters {                                                  \
    static CUresult(*real) parameters;                                        \
    if (!driver()) return CUDA_ERROR_NO_DEVICE;                               \
    if (!real) real = (CUresult(*) parameters)dlsym(driver(), #name);         \
    return real ? real arguments : CUDA_ERROR_NOT_FOUND;                      \
  }

FORWARDED(DEFINE)

/* TVM prints *text whatever this returns, so *text is always set. */
CUresult cuGetErrorName(CUresult error, const char **text) {
  static CUresult (*real)(CUresult, const char **);
  if (driver() && !real) real = (CUresult(*)(CUresult, const char **))dlsym(driver(), "cuGetErrorName");
  if (real) return real(error, text);
  switch (error) {
    case CUDA_SUCCESS: *text = "CUDA_SUCCESS"; break;
    case CUDA_ERROR_NO_DEVICE: *text = "CUDA_ERROR_NO_DEVICE (no NVIDIA driver: libcuda.so.1 was not found)"; break;
    case CUDA_ERROR_NOT_FOUND: *text = "CUDA_ERROR_NOT_FOUND (the NVIDIA driver lacks this function)"; break;
    default: *text = "unknown CUDA error (no NVIDIA driver: libcuda.so.1 was not found)"; break;
  }
  return CUDA_SUCCESS;
}
