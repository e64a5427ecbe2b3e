#include "simulator/upper_bound/best_packing.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera {
namespace {

std::int32_t grid_steps(std::int32_t cpu_milli) {
    return cpu_milli / kCpuGridMilli;
}

}  // namespace

// Collects candidates and keeps those that have more value than all others with as little CPU. The
// values are in an array of their own, because most of the time is spent scanning them.
class BestPackings::Rise {
  public:
    explicit Rise(std::int32_t cpu)
        : values_(static_cast<std::size_t>(cpu) + 1, kNone),
          steps_(static_cast<std::size_t>(cpu) + 1) {}

    void consider(const Step& step) {
        const auto at = static_cast<std::size_t>(step.cpu);
        if (at >= values_.size() || step.value <= values_[at]) return;
        values_[at] = step.value;
        steps_[at] = step;
        end_ = std::max(end_, at + 1);
    }

    // Considers each step of `base` with one more task.
    void consider_each(const Steps& base, const BoundClass& one, double value, std::int32_t index) {
        const std::int32_t cpu = grid_steps(one.cpu_milli);
        for (std::size_t i = 0; i < base.size(); ++i) {
            consider({.cpu = base[i].cpu + cpu,
                      .value = base[i].value + value,
                      .added = index,
                      .from = static_cast<std::int32_t>(i)});
        }
    }

    // Returns the collected steps and clears them.
    Steps take() {
        Steps steps;
        double highest = kNone;
        for (std::size_t at = 0; at < end_; ++at) {
            if (values_[at] > highest) {
                highest = values_[at];
                steps.push_back(steps_[at]);
            }
            values_[at] = kNone;
        }
        end_ = 0;
        return steps;
    }

  private:
    static constexpr double kNone = -1;

    std::vector<double> values_;  // by CPU
    std::vector<Step> steps_;     // parallel
    std::size_t end_ = 0;         // no candidates were offered from here on
};

BestPackings::BestPackings(std::span<const BoundClass> classes, std::span<const double> values,
                           int gpus, std::int32_t cpu_milli)
    : classes_(classes), cpu_(grid_steps(cpu_milli)) {
    cut_one_gpu(values);
    join_gpus(values, gpus);
}

void BestPackings::cut_one_gpu(std::span<const double> values) {
    std::vector<std::size_t> parts;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        if (classes_[i].count != 1 || values[i] <= 0) continue;
        parts.push_back(i);
        milli_per_level_ = std::gcd(milli_per_level_, int{classes_[i].milli});
    }
    cut_.resize(static_cast<std::size_t>(kMilliPerGpu / milli_per_level_) + 1);
    cut_[0] = {Step{}};
    Rise rise(cpu_);
    for (std::size_t level = 1; level < cut_.size(); ++level) {
        const Steps& less = cut_[level - 1];
        for (std::size_t i = 0; i < less.size(); ++i) {
            rise.consider(
                {.cpu = less[i].cpu, .value = less[i].value, .from = static_cast<int>(i)});
        }
        for (const std::size_t part : parts) {
            const auto needed = static_cast<std::size_t>(level_of(classes_[part]));
            if (needed > level) continue;
            rise.consider_each(cut_[level - needed], classes_[part], values[part],
                               static_cast<std::int32_t>(part));
        }
        cut_[level] = rise.take();
    }
}

void BestPackings::join_gpus(std::span<const double> values, int gpus) {
    joined_.resize(static_cast<std::size_t>(gpus) + 1);
    joined_[0] = {Step{}};
    const Steps& cut = cut_.back();
    Rise rise(cpu_);
    for (std::size_t k = 1; k < joined_.size(); ++k) {
        const Steps& less = joined_[k - 1];
        for (std::size_t i = 0; i < less.size(); ++i) {
            for (std::size_t part = 0; part < cut.size(); ++part) {
                rise.consider({.cpu = less[i].cpu + cut[part].cpu,
                               .value = less[i].value + cut[part].value,
                               .added = kCut,
                               .part = static_cast<std::int32_t>(part),
                               .from = static_cast<std::int32_t>(i)});
            }
        }
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            const auto needed = static_cast<std::size_t>(classes_[i].count);
            if (needed < 2 || needed > k || values[i] <= 0) continue;
            rise.consider_each(joined_[k - needed], classes_[i], values[i],
                               static_cast<std::int32_t>(i));
        }
        joined_[k] = rise.take();
    }
}

Packing BestPackings::best(int gpus, std::int32_t cpu_milli) const {
    const auto last_within = [](const Steps& steps, std::int32_t cpu) {
        const auto after = std::ranges::upper_bound(steps, cpu, {}, &Step::cpu);
        return static_cast<std::size_t>(after - steps.begin()) - 1;
    };
    auto k = static_cast<std::size_t>(gpus);
    std::size_t at = last_within(joined_[k], grid_steps(cpu_milli));
    std::map<int, int> counts;
    const auto follow_cut = [&](std::size_t part) {
        for (std::size_t level = cut_.size() - 1; level > 0;) {
            const Step& step = cut_[level][part];
            if (step.added != kIdle) ++counts[step.added];
            level -= step.added == kIdle ? 1
                                         : static_cast<std::size_t>(level_of(
                                               classes_[static_cast<std::size_t>(step.added)]));
            part = static_cast<std::size_t>(step.from);
        }
    };
    Packing packing{.value = joined_[k][at].value};
    while (k > 0) {
        const Step& step = joined_[k][at];
        if (step.added == kCut) {
            follow_cut(static_cast<std::size_t>(step.part));
            --k;
        } else {
            ++counts[step.added];
            k -= static_cast<std::size_t>(classes_[static_cast<std::size_t>(step.added)].count);
        }
        at = static_cast<std::size_t>(step.from);
    }
    for (const auto& [index, count] : counts)
        packing.classes.push_back({index, count});
    return packing;
}

}  // namespace tessera
