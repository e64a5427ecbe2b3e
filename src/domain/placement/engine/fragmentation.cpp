#include "domain/placement/engine/fragmentation.hpp"

namespace tessera {

double Fragmentation::of(const NodeLoad& load) {
    constexpr double kUnknown = -1;
    if (memo_.full()) memo_.clear();
    double& value = memo_.at(state_of(load, false), kUnknown);
    if (value == kUnknown) value = work_out(load);
    return value;
}

double Fragmentation::work_out(const NodeLoad& load) const {
    const int free = load.free_milli();
    if (free == 0) return 0;
    double lacks_both = 0;
    double lacks_gpus = 0;
    double lacks_cpu = 0;
    double no_gpus_fits = 0;
    double no_gpus_lacks_cpu = 0;
    double no_access = 0;
    for (const MixClass& m : mix_) {
        const double all = m.share * free;
        const bool has_cpu = load.cpu_milli >= m.cpu_milli;
        if (m.count == 0) {
            (has_cpu ? no_gpus_fits : no_gpus_lacks_cpu) += all;
            continue;
        }
        if ((m.models & model_bit(load.model)) == 0) {
            no_access += all;
            continue;
        }
        int fitting = 0;
        int pieces = 0;
        for (int gpu = 0; gpu < load.gpus; ++gpu) {
            const int milli = load.milli[static_cast<std::size_t>(gpu)];
            fitting += milli >= m.milli ? 1 : 0;
            pieces += milli >= m.milli ? 0 : milli;
        }
        if (fitting >= m.count) {
            has_cpu ? lacks_gpus += m.share* pieces : lacks_cpu += all;
        } else {
            (has_cpu ? lacks_gpus : lacks_both) += all;
        }
    }
    return lacks_both + lacks_gpus + lacks_cpu + no_gpus_fits + no_gpus_lacks_cpu + no_access;
}

}  // namespace tessera
