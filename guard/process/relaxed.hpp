// While this is in scope the thread may ask the driver whatever a program records elsewhere.
#pragma once

#include "guard/inject/driver.hpp"

namespace tessera::guard {

// Our own questions are not the program's: a capture that forbids them elsewhere is none of ours.
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
