// While this is in scope, its thread cannot be cancelled (pthread_cancel). A program does not
// expect cancellation in a call of the driver. It would leave locked or open what the thread has
// locked or opened here, because destructors do not run then.
#pragma once

#include <pthread.h>

namespace tessera::guard {

class Uncancelled {
  public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~Uncancelled() { pthread_setcancelstate(before_, &before_); }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;

  private:
    int before_ = 0;
};

}  // namespace tessera::guard
