// While this is in scope, the thread may call the driver even if the program is capturing
// elsewhere.
#pragma once

#include "guard/inject/driver.hpp"

namespace tessera::guard {

// Our own calls are not the program's, so the restrictions of its capture do not apply to them.
class Relaxed {
  public:
    Relaxed() { exchange(); }
    ~Relaxed() { exchange(); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

  private:
    void exchange() {
        const auto& change = driver()->cuThreadExchangeStreamCaptureMode;
        if (change) change(&mode_);
    }
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace tessera::guard
