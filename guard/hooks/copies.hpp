// Copies and fills as hooks: between host and card they are the work of the card's copy engines,
// within the card that of those that run kernels.
#pragma once

#include "guard/hooks/work.hpp"

// A call that names a stream. `kind` may use what it is called with.
#define IN_STREAM(name, kind, parameters, arguments) \
    IN_STREAM_OF(name, kind, stream, parameters, arguments)
// One that works in the default stream. Within the card it comes back before it is done.
#define IN_DEFAULT_STREAM(name, kind, parameters, arguments)                                      \
    CUresult name parameters {                                                                    \
        return do_or_give_work(&Driver::name, kind, nullptr, EACH arguments);                     \
    }                                                                                             \
    CUresult name##_ptds parameters {                                                             \
        return do_or_give_work(&Driver::name##_ptds, kind, CU_STREAM_PER_THREAD, EACH arguments); \
    }

namespace tessera::guard {

template <typename... Parameters, typename... Arguments>
CUresult do_or_give_work(DriverFunction<CUresult (*)(Parameters...)> Driver::* slot, WorkKind kind,
                         CUstream stream, Arguments... arguments) {
    if (kind == WorkKind::copies) return do_work(slot, kind, stream, arguments...);
    return give_work(slot, kind, stream, arguments...);
}

}  // namespace tessera::guard
