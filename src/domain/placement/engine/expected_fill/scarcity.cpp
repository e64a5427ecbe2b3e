#include "domain/placement/engine/expected_fill/scarcity.hpp"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kMost = 2;
constexpr double kMostRenewal = 100;

std::int32_t whole_gpus(const NodeLoad& load) {
    std::int32_t whole = 0;
    for (const std::int16_t free : load.milli)
        whole += free == kMilliPerGpu ? 1 : 0;
    return whole;
}

// 1 + 1/2 + ... + 1/n, by n.
constexpr auto kHarmonic = [] {
    std::array<double, kMaxGpus + 1> sums{};
    for (std::size_t n = 1; n < sums.size(); ++n)
        sums[n] = sums[n - 1] + 1.0 / static_cast<double>(n);
    return sums;
}();

}  // namespace

std::int32_t Scarcity::copies(const WholeGpuClass& tasks, const NodeLoad& load,
                              std::int32_t whole) {
    if ((tasks.models & model_bit(load.model)) == 0) return 0;
    const std::int32_t by_gpus = whole / tasks.count;
    return tasks.cpu_milli > 0 ? std::min(by_gpus, load.cpu_milli / tasks.cpu_milli) : by_gpus;
}

double Scarcity::drain(const WholeGpuClass& tasks, const NodeLoad& load, std::int32_t whole) const {
    if (leaving_ <= 0 || (tasks.models & model_bit(load.model)) == 0) return 0;
    double wait = 0;
    for (int wanted = (whole / tasks.count + 1) * tasks.count; wanted <= load.gpus;
         wanted += tasks.count) {
        wait += kHarmonic.at(static_cast<std::size_t>(load.gpus - whole)) -
                kHarmonic.at(static_cast<std::size_t>(load.gpus - wanted));
    }
    return leaving_ * wait;
}

void Scarcity::note_departures(const PlacementEngine& engine) {
    taken_ = taken_ / 2 + static_cast<double>(engine.allocated_milli() - allocated_milli_);
    given_back_ = given_back_ / 2 + static_cast<double>(engine.released_milli() - released_milli_);
    allocated_milli_ = engine.allocated_milli();
    released_milli_ = engine.released_milli();
    leaving_ = taken_ > 0 ? std::clamp(given_back_ / taken_, 0.0, 1.0) : 0;
}

void Scarcity::update(std::span<const MixClass> mix, const PlacementEngine& engine) {
    std::array<double, kMaxModels> idle_of{};
    double idle = 0;
    for (std::size_t node = 0; node < engine.size(); ++node) {
        const NodeLoad& load = engine.load(node);
        const int free = load.free_milli();
        idle_of.at(static_cast<std::size_t>(load.model)) += free;
        idle += free;
    }
    double asked = 0;  // thousandths of a GPU per task
    for (const MixClass& m : mix)
        asked += m.share * m.milli * m.count;
    note_departures(engine);
    const double renewed = 1 / std::max(1 - leaving_, 1 / kMostRenewal);
    whole_gpu_classes_.clear();
    prices_.fill(0);
    if (asked <= 0) return;

    for (const MixClass& m : mix) {
        const double expected = idle * m.share / asked;
        if (m.count > 1 && m.milli == kMilliPerGpu) {
            WholeGpuClass tasks{m.cpu_milli, m.count, m.models, 0};
            double all = 0;
            for (std::size_t node = 0; node < engine.size(); ++node) {
                const NodeLoad& load = engine.load(node);
                all += copies(tasks, load, whole_gpus(load));
            }
            const double scarce = all > 0 ? std::min(kMost, renewed * expected / all) : kMost;
            tasks.worth = kMilliPerGpu * m.count * scarce;
            whole_gpu_classes_.push_back(tasks);
        }
        if (m.count == 0 || m.models == kAnyModel) continue;
        double free = 0;
        for (std::size_t model = 0; model < kMaxModels; ++model)
            free += (m.models & model_bit(static_cast<int>(model))) != 0 ? idle_of[model] : 0;
        for (std::size_t model = 0; free > 0 && model < kMaxModels; ++model) {
            if ((m.models & model_bit(static_cast<int>(model))) != 0)
                prices_[model] += expected * m.milli * m.count / free;
        }
    }
    for (double& price : prices_)
        price = std::min(kMost, price);
}

double Scarcity::reserve(const NodeLoad& load) const {
    if (whole_gpu_classes_.empty()) return 0;
    const std::int32_t whole = whole_gpus(load);
    if (whole < 2 && leaving_ <= 0) return 0;
    double sum = 0;
    for (const WholeGpuClass& tasks : whole_gpu_classes_)
        sum += tasks.worth * (copies(tasks, load, whole) - drain(tasks, load, whole));
    return sum;
}

}  // namespace tessera
