/* Stands in for libnvrtc.so.12 where NVIDIA's is not installed, so that libtvm.so can be loaded.
 *
 * TVM compiles CUDA through nvcc, by its Python callback, and comes here only when that callback was removed: then it
 * gets an error to print. libtvm.so looks beside itself last, so an installed libnvrtc.so.12 always wins.
 */
enum { NVRTC_ERROR_INTERNAL_ERROR = 11 };

/* The real functions take arguments; by the calling convention a function may ignore them. */
#define REFUSE(name) \
  int name(void) { return NVRTC_ERROR_INTERNAL_ERROR; }

REFUSE(nvrtcCompileProgram)
REFUSE(nvrtcCreateProgram)
REFUSE(nvrtcDestroyProgram)
REFUSE(nvrtcGetPTX)
REFUSE(nvrtcGetPTXSize)
REFUSE(nvrtcGetProgramLog)
REFUSE(nvrtcGetProgramLogSize)

const char *nvrtcGetErrorString(int error) {
  (void)error;
  return "NVRTC is not installed (pip install nvidia-cuda-nvrtc-cu12)";
}
