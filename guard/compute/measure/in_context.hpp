// Makes a context current while this object is in scope, because a stream may get work or be
// destroyed while another context is current.
#pragma once

#include "guard/inject/driver.hpp"

namespace tessera::guard {

class InContext {
  public:
    explicit InContext(CUcontext context) {
        CUcontext current = nullptr;
        const Driver& real = *driver();
        has_pushed_ = real.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != context &&
                      real.cuCtxPushCurrent_v2 && real.cuCtxPopCurrent_v2 &&
                      real.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
    }
    ~InContext() {
        CUcontext popped = nullptr;
        if (has_pushed_) driver()->cuCtxPopCurrent_v2(&popped);
    }
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;

  private:
    bool has_pushed_;
};

}  // namespace tessera::guard
