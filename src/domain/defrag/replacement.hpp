// When a controller creates the replacement of an evicted pod.
#pragma once

namespace tessera::defrag {

enum class Replacement {
    at_once,    // while the old pod terminates and still has its GPUs
    once_gone,  // when the old pod has released its GPUs
    unknown,    // either of the two
};

}  // namespace tessera::defrag
