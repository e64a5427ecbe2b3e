#include "domain/placement/engine/expected_fill/expected_fill.hpp"

#include <algorithm>
#include <cmath>

#include "domain/placement/engine/best_fit.hpp"
#include "domain/placement/engine/expected_fill/learnt_mix.hpp"
#include "domain/placement/engine/expected_fill/piece_value.hpp"
#include "domain/placement/engine/expected_fill/sampled_fill.hpp"
#include "domain/placement/engine/expected_fill/scarcity.hpp"

namespace tessera {
namespace {

constexpr int kQuantum = 80;                // thousandths of a GPU
constexpr std::uint64_t kFirstRebuild = 5;  // arrivals

// The most arrivals between two updates from the whole cluster. Each update invalidates all scores,
// and its cost per arrival must not grow with the cluster.
std::uint64_t longest_wait(const PlacementEngine& engine) {
    return std::max<std::uint64_t>(1'000, engine.size());
}

class ExpectedFill final : public PlacementPolicy {
  public:
    ExpectedFill(const PolicyInputs& inputs, const ExpectedFillWeights& weights, bool learns)
        : weights_(weights),
          learns_(learns),
          fill_(inputs.sampling_seed),
          best_fit_(best_fit_policy(inputs)) {
        if (learns_) {
            next_look_ = kFirstRebuild;
            return;
        }
        // The mix starts with the most frequent classes.
        const auto kept =
            inputs.mix.first(std::min(inputs.mix.size(), TaskStreamGroup::kMostClasses));
        mix_.assign(kept.begin(), kept.end());
        fill_.renew_all(mix_);
        pieces_.learn(mix_);
    }

    bool arrived(const PlacementTask& task, const PlacementEngine& engine) override {
        const std::uint64_t longest = longest_wait(engine);
        if (learns_) learnt_.add(task);
        ++arrivals_;
        if (arrivals_ < next_look_) return false;
        if (learns_) {
            learn(longest);
        } else {
            next_look_ += longest;
        }
        scarcity_.update(mix_, engine);
        return true;
    }

    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<ExpectedFill>(*this);
    }
    [[nodiscard]] bool is_slow() const override { return true; }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t random) override {
        if (mix_.empty()) return best_fit_->score(load, task, random);
        const double start = value(load) + price(load, task);
        const bool is_share = task.count == 1 && task.milli < kMilliPerGpu;
        if (!is_share) {
            const GpuSet gpus = tightest_gpus(load, task);
            return {score(start, value(load_after(load, task, gpus))), gpus};
        }
        double best = 0;
        GpuSet chosen = 0;
        for (int gpu = 0; gpu < load.gpus; ++gpu) {
            if (load.milli[static_cast<std::size_t>(gpu)] < task.milli) continue;
            if (has_twin_before(load, gpu)) continue;
            const double after = value(load_after(load, task, gpu_bit(gpu)));
            if (chosen != 0 && after <= best) continue;
            best = after;
            chosen = gpu_bit(gpu);
        }
        return {score(start, best), chosen};
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load,
                                               const PlacementTask& task) override {
        if (mix_.empty()) return best_fit_->terms(load, task);
        const NodeLoad after = load_after(load, task, score(load, task, 0).gpus);
        return {{"fill", fill(after) - fill(load)},
                {"pieces", pieces(after) - pieces(load)},
                {"reserve", reserve(after) - reserve(load)},
                {"price", -price(load, task)}};
    }

  private:
    static std::int32_t score(double start, double after) {
        return static_cast<std::int32_t>(std::floor((after - start) / kQuantum));
    }

    // The weighted terms of the score. They are not added in the header's order: the sum is of
    // doubles, and its order sometimes changes the result.
    double value(const NodeLoad& load) {
        double sum = reserve(load);
        if (weights_.pieces > 0) sum += pieces(load);
        if (weights_.fill > 0) sum += fill(load);
        return sum;
    }
    [[nodiscard]] double reserve(const NodeLoad& load) const {
        return weights_.reserve * scarcity_.reserve(load);
    }
    double pieces(const NodeLoad& load) { return weights_.pieces * pieces_.of(load); }
    double fill(const NodeLoad& load) {
        return weights_.fill * fill_.of(load) / static_cast<double>(SampledFill::kSampleStreams);
    }
    [[nodiscard]] double price(const NodeLoad& load, const PlacementTask& task) const {
        return task.count == 0
                   ? 0
                   : weights_.price * scarcity_.price(load.model) * task.milli * task.count;
    }

    void learn(std::uint64_t longest_wait) {
        const std::uint64_t wait = std::min(next_look_ / 2, longest_wait);
        next_look_ += wait;
        mix_ = learnt_.mix();
        // While the mix is hardly known, all streams are drawn again; later only a part of them.
        if (wait < longest_wait) {
            fill_.renew_all(mix_);
        } else {
            fill_.renew_one(mix_);
        }
        pieces_.learn(mix_);
    }

    ExpectedFillWeights weights_;
    bool learns_;
    SampledFill fill_;
    PieceValue pieces_;
    Scarcity scarcity_;
    LearntMix learnt_;
    std::shared_ptr<PlacementPolicy> best_fit_;  // stateless: copies share it
    std::vector<MixClass> mix_;
    std::uint64_t arrivals_ = 0;
    std::uint64_t next_look_ = 0;  // arrivals
};

}  // namespace

std::unique_ptr<PlacementPolicy> expected_fill_policy(const PolicyInputs& inputs,
                                                      const ExpectedFillWeights& weights,
                                                      bool learns) {
    return std::make_unique<ExpectedFill>(inputs, weights, learns);
}

}  // namespace tessera
