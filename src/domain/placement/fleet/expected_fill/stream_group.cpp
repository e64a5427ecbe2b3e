#include "domain/placement/fleet/expected_fill/stream_group.hpp"

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

// Per value from 0 to the largest of `steps`, how many of them are no larger.
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

// A stream on a node, on its way.
template <int kVectors>
struct StreamGroup::Run {
    CardLanes<kVectors> cards;
    std::int32_t cpu_milli = 0;
    std::int32_t taken = 0;
    Tasks open = 0;
    const std::uint16_t* tasks = nullptr;
    const Tasks* by_cpu = nullptr;
    const Tasks* by_card = nullptr;
};

inline std::size_t StreamGroup::cpu_level(std::int32_t cpu_milli) const {
    // The CPU of a node or task is not negative.
    const std::size_t bucket = static_cast<std::uint32_t>(cpu_milli) / kCpuBucket;
    return level_of(cpu_levels_, bucket);
}

StreamGroup::StreamGroup(std::span<const MixClass> mix, const StreamDraw& draw) {
    TESSERA_CHECK(mix.size() <= kMostClasses, "streams are of at most kMostClasses");
    if (mix.empty()) return;
    for (const MixClass& m : mix) {
        // A card of which nothing is asked is no card to a stream.
        classes_.push_back({.demand = lane_demand(m.milli),
                            .cpu_milli = m.cpu_milli,
                            .count = m.milli > 0 ? m.count : 0,
                            .takes = m.milli * m.count});
    }
    classes_.push_back({.demand = lane_demand(0)});
    const auto sample = sample_streams(mix, draw);
    for (std::size_t stream = 0; stream < kGroupStreams; ++stream) {
        streams_[stream].fill(static_cast<std::uint16_t>(mix.size()));
        std::ranges::copy(sample[stream], streams_[stream].begin());
    }
    note_levels(mix);
}

void StreamGroup::note_levels(std::span<const MixClass> mix) {
    std::vector<std::size_t> cpu = {0};
    std::vector<std::size_t> card = {kMilliPerCard};
    for (const MixClass& m : mix) {
        cpu.push_back(cpu_bucket(m.cpu_milli));
        if (m.milli > 0) card.push_back(static_cast<std::size_t>(m.milli));
    }
    cpu_levels_ = levels_of(std::move(cpu));
    card_levels_ = levels_of(std::move(card));
    card_levels_.resize(kMilliPerCard + 1, card_levels_.back());
    cpu_width_ = std::size_t{cpu_levels_.back()} + 1;
    card_width_ = std::size_t{card_levels_.back()} + 1;

    by_cpu_.resize(kGroupStreams * cpu_width_);
    by_card_.resize(kGroupStreams * card_width_);
    by_model_.resize(kGroupStreams * kMaxModels);
    for (std::size_t stream = 0; stream < kGroupStreams; ++stream) {
        for (std::size_t place = 0; place < kStreamLength; ++place) {
            const MixClass& m = mix[streams_[stream][place]];
            const Tasks bit = Tasks{1} << place;
            for (std::size_t level = cpu_level(m.cpu_milli); level < cpu_width_; ++level)
                by_cpu_[stream * cpu_width_ + level] |= bit;
            const std::size_t card_from =
                m.milli > 0 ? level_of(card_levels_, static_cast<std::size_t>(m.milli)) : 0;
            for (std::size_t level = card_from; level < card_width_; ++level)
                by_card_[stream * card_width_ + level] |= bit;
            for (std::size_t model = 0; model < kMaxModels; ++model) {
                if (m.count == 0 || (m.models & model_bit(static_cast<int>(model))) != 0)
                    by_model_[stream * kMaxModels + model] |= bit;
            }
        }
    }
}

// Inlined by force: four of them are to overlap.
template <int kVectors>
[[gnu::always_inline]] inline void StreamGroup::step(Run<kVectors>& run) const {
    // The place past the end, for a stream that is done, keeps the search from asking for one.
    const auto place = std::countr_zero(run.open | Tasks{1} << kStreamLength);
    const Class& one = classes_[run.tasks[place]];
    run.open &= run.open - 1;
    if (one.cpu_milli > run.cpu_milli) [[unlikely]]
        return;
    if (one.count > 1) [[unlikely]] {
        if (run.cards.fitting(one.demand) < one.count) return;
        run.cards.take_each(one.demand, one.count);
    } else {
        run.cards.take(one.demand);
    }
    run.cpu_milli -= one.cpu_milli;
    run.taken += one.takes;
    run.open &= run.by_cpu[cpu_level(run.cpu_milli)] &
                run.by_card[card_levels_[static_cast<std::size_t>(run.cards.most_free())]];
}

// Four streams side by side, so that the processor need not wait for any of them.
template <int kVectors>
std::int32_t StreamGroup::run_all(const NodeLoad& load) const {
    const CardLanes<kVectors> cards(load);
    const std::size_t cpu = cpu_level(load.cpu_milli);
    const std::size_t card = card_levels_[static_cast<std::size_t>(cards.most_free())];
    const auto model = static_cast<std::size_t>(load.model);
    const auto run_of = [&](std::size_t stream) {
        const Tasks* const by_cpu = &by_cpu_[stream * cpu_width_];
        const Tasks* const by_card = &by_card_[stream * card_width_];
        const Tasks open = by_cpu[cpu] & by_card[card] & by_model_[stream * kMaxModels + model];
        return Run<kVectors>{cards,  load.cpu_milli, 0, open, streams_[stream].data(),
                             by_cpu, by_card};
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

std::int32_t StreamGroup::taken(const NodeLoad& load) const {
    if (classes_.empty()) return 0;
    return load.cards <= kLanes ? run_all<1>(load) : run_all<2>(load);
}

}  // namespace tessera
