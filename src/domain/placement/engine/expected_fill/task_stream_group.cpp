#include "domain/placement/engine/expected_fill/task_stream_group.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kCpuBucket = 128;  // thousandths of a core
constexpr std::size_t kMostCpuBuckets = 4096;

std::size_t cpu_bucket(std::int32_t cpu_milli) {
    const auto bucket = static_cast<std::uint32_t>(std::max(cpu_milli, 0)) / kCpuBucket;
    return std::min<std::size_t>(bucket, kMostCpuBuckets - 1);
}

// For each value from 0 to the largest of `steps`: the number of steps that are not larger.
std::vector<std::uint16_t> levels_of(std::vector<std::size_t> steps) {
    std::ranges::sort(steps);
    const auto rest = std::ranges::unique(steps);
    steps.erase(rest.begin(), rest.end());
    std::vector<std::uint16_t> levels(steps.back() + 1);
    std::size_t level = 0;
    for (std::size_t value = 0; value < levels.size(); ++value) {
        if (steps[level] == value) ++level;
        levels[value] = static_cast<std::uint16_t>(level);
    }
    return levels;
}

std::size_t level_of(const std::vector<std::uint16_t>& levels, std::size_t value) {
    return levels[std::min(value, levels.size() - 1)];
}

}  // namespace

// The state of a stream that runs on a node.
template <int kVectors>
struct TaskStreamGroup::Run {
    GpuLanes<kVectors> gpus;
    std::int32_t cpu_milli = 0;
    std::int32_t taken = 0;
    Tasks open = 0;
    const std::uint16_t* tasks = nullptr;
    const Tasks* by_cpu = nullptr;
    const Tasks* by_gpu = nullptr;
};

inline std::size_t TaskStreamGroup::cpu_level(std::int32_t cpu_milli) const {
    // The CPU of a node or task is not negative.
    const std::size_t bucket = static_cast<std::uint32_t>(cpu_milli) / kCpuBucket;
    return level_of(cpu_levels_, bucket);
}

TaskStreamGroup::TaskStreamGroup(std::span<const MixClass> mix, const StreamSample& sample) {
    TESSERA_CHECK(mix.size() <= kMostClasses, "streams have at most kMostClasses");
    if (mix.empty()) return;
    for (const MixClass& m : mix) {
        // A class that requests 0 of a GPU counts as one without GPUs.
        classes_.push_back({.demand = lane_demand(m.milli),
                            .cpu_milli = m.cpu_milli,
                            .count = m.milli > 0 ? m.count : 0,
                            .takes = m.milli * m.count});
    }
    classes_.push_back({.demand = lane_demand(0)});
    const auto streams = sample_streams(mix, sample);
    for (std::size_t stream = 0; stream < kGroupStreams; ++stream) {
        streams_[stream].fill(static_cast<std::uint16_t>(mix.size()));
        std::ranges::copy(streams[stream], streams_[stream].begin());
    }
    note_levels(mix);
}

void TaskStreamGroup::note_levels(std::span<const MixClass> mix) {
    std::vector<std::size_t> cpu = {0};
    std::vector<std::size_t> gpu = {kMilliPerGpu};
    for (const MixClass& m : mix) {
        cpu.push_back(cpu_bucket(m.cpu_milli));
        if (m.milli > 0) gpu.push_back(static_cast<std::size_t>(m.milli));
    }
    cpu_levels_ = levels_of(std::move(cpu));
    gpu_levels_ = levels_of(std::move(gpu));
    gpu_levels_.resize(kMilliPerGpu + 1, gpu_levels_.back());
    cpu_width_ = std::size_t{cpu_levels_.back()} + 1;
    gpu_width_ = std::size_t{gpu_levels_.back()} + 1;

    by_cpu_.resize(kGroupStreams * cpu_width_);
    by_gpu_.resize(kGroupStreams * gpu_width_);
    by_model_.resize(kGroupStreams * kMaxModels);
    for (std::size_t stream = 0; stream < kGroupStreams; ++stream) {
        for (std::size_t place = 0; place < kStreamLength; ++place) {
            const MixClass& m = mix[streams_[stream][place]];
            const Tasks bit = Tasks{1} << place;
            for (std::size_t level = cpu_level(m.cpu_milli); level < cpu_width_; ++level)
                by_cpu_[stream * cpu_width_ + level] |= bit;
            const std::size_t gpu_from =
                m.milli > 0 ? level_of(gpu_levels_, static_cast<std::size_t>(m.milli)) : 0;
            for (std::size_t level = gpu_from; level < gpu_width_; ++level)
                by_gpu_[stream * gpu_width_ + level] |= bit;
            for (std::size_t model = 0; model < kMaxModels; ++model) {
                if (m.count == 0 || (m.models & model_bit(static_cast<int>(model))) != 0)
                    by_model_[stream * kMaxModels + model] |= bit;
            }
        }
    }
}

// Always inlined, so that four steps overlap.
template <int kVectors>
[[gnu::always_inline]] inline void TaskStreamGroup::step(Run<kVectors>& run) const {
    // The bit after the end is for a finished stream, so that no branch is needed.
    const auto place = std::countr_zero(run.open | Tasks{1} << kStreamLength);
    const Class& one = classes_[run.tasks[place]];
    run.open &= run.open - 1;
    if (one.cpu_milli > run.cpu_milli) [[unlikely]]
        return;
    if (one.count > 1) [[unlikely]] {
        if (run.gpus.fitting(one.demand) < one.count) return;
        run.gpus.take_each(one.demand, one.count);
    } else {
        run.gpus.take(one.demand);
    }
    run.cpu_milli -= one.cpu_milli;
    run.taken += one.takes;
    run.open &= run.by_cpu[cpu_level(run.cpu_milli)] &
                run.by_gpu[gpu_levels_[static_cast<std::size_t>(run.gpus.most_free())]];
}

// Runs four streams side by side, so that the processor does not wait for any of them.
template <int kVectors>
std::int32_t TaskStreamGroup::run_all(const NodeLoad& load) const {
    const GpuLanes<kVectors> gpus(load);
    const std::size_t cpu = cpu_level(load.cpu_milli);
    const std::size_t gpu = gpu_levels_[static_cast<std::size_t>(gpus.most_free())];
    const auto model = static_cast<std::size_t>(load.model);
    const auto run_of = [&](std::size_t stream) {
        const Tasks* const by_cpu = &by_cpu_[stream * cpu_width_];
        const Tasks* const by_gpu = &by_gpu_[stream * gpu_width_];
        const Tasks open = by_cpu[cpu] & by_gpu[gpu] & by_model_[stream * kMaxModels + model];
        return Run<kVectors>{gpus,   load.cpu_milli, 0, open, streams_[stream].data(),
                             by_cpu, by_gpu};
    };
    std::int32_t sum = 0;
    for (std::size_t stream = 0; stream < kGroupStreams; stream += 4) {
        auto a = run_of(stream);
        auto b = run_of(stream + 1);
        auto c = run_of(stream + 2);
        auto d = run_of(stream + 3);
        while ((a.open | b.open | c.open | d.open) != 0) {
            step(a);
            step(b);
            step(c);
            step(d);
        }
        sum += a.taken + b.taken + c.taken + d.taken;
    }
    return sum;
}

std::int32_t TaskStreamGroup::taken(const NodeLoad& load) const {
    if (classes_.empty()) return 0;
    return load.gpus <= kLanes ? run_all<1>(load) : run_all<2>(load);
}

}  // namespace tessera
