// How a hook begins:
// const Entered real(&Driver::cuMemFree_v2);
// if (!real.must_enforce()) return real(...);
#pragma once

#include "guard/inject/driver.hpp"
#include "guard/process/process.hpp"

namespace tessera::guard {

// The driver's own function, for its hook.
template <typename Function>
class Entered {
  public:
    explicit Entered(Function Driver::* slot)
        : real_(driver() != nullptr ? &(driver()->*slot) : nullptr) {
        if (real_ == nullptr) {
            error_ = kNoDriver;
        } else if (!*real_) {
            error_ = CUDA_ERROR_NOT_SUPPORTED;  // the program found our name: this driver has no
                                                // such function
        } else if (InDriver::is_now()) {
            must_enforce_ = false;
        } else {
            error_ = begin();
        }
    }

    // Whether the hook has something to do. If not, return real(...): the error if the guard cannot
    // start here, or else the driver's own answer.
    [[nodiscard]] bool must_enforce() const { return must_enforce_ && error_ == CUDA_SUCCESS; }

    template <typename... Arguments>
    CUresult operator()(Arguments... arguments) const {
        return error_ == CUDA_SUCCESS ? (*real_)(arguments...) : error_;
    }

  private:
    const Function* real_;
    CUresult error_ = CUDA_SUCCESS;
    bool must_enforce_ = true;
};

}  // namespace tessera::guard
