#include "domain/placement/fleet/expected_fill/expected_fill.hpp"

#include <algorithm>
#include <cmath>

#include "domain/placement/fleet/best_fit.hpp"
#include "domain/placement/fleet/expected_fill/learnt_mix.hpp"
#include "domain/placement/fleet/expected_fill/piece_value.hpp"
#include "domain/placement/fleet/expected_fill/sampled_fill.hpp"
#include "domain/placement/fleet/expected_fill/scarcity.hpp"

namespace tessera {
namespace {

constexpr int kQuantum = 80;                // thousandths of a card
constexpr std::uint64_t kFirstRebuild = 5;  // arrivals

// Arrivals from one look at the whole cluster to the next, at most: each makes all scores stale,
// and what that costs per arrival is not to grow with the cluster.
std::uint64_t longest_wait(const Fleet& fleet) {
    return std::max<std::uint64_t>(1'000, fleet.size());
}

class ExpectedFill final : public FleetPolicy {
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
        // The most frequent come first.
        const auto kept = inputs.mix.first(std::min(inputs.mix.size(), StreamGroup::kMostClasses));
        mix_.assign(kept.begin(), kept.end());
        fill_.renew_all(mix_);
        pieces_.learn(mix_);
    }

    bool arrived(const Task& task, const Fleet& fleet) override {
        const std::uint64_t longest = longest_wait(fleet);
        if (learns_) learnt_.add(task);
        ++arrivals_;
        if (arrivals_ < next_look_) return false;
        if (learns_) {
            learn(longest);
        } else {
            next_look_ += longest;
        }
        scarcity_.update(mix_, fleet);
        return true;
    }

    [[nodiscard]] std::unique_ptr<FleetPolicy> copy() const override {
        return std::make_unique<ExpectedFill>(*this);
    }
    [[nodiscard]] bool is_slow() const override { return true; }

    [[nodiscard]] Rating rate(const NodeLoad& load, const Task& task, std::uint64_t draw) override {
        if (mix_.empty()) return best_fit_->rate(load, task, draw);
        const double start = value(load) + price(load, task);
        const bool is_share = task.count == 1 && task.milli < kMilliPerCard;
        if (!is_share) {
            const CardSet cards = tightest_cards(load, task);
            return {score(start, value(load_after(load, task, cards))), cards};
        }
        double best = 0;
        CardSet chosen = 0;
        for (int card = 0; card < load.cards; ++card) {
            if (load.milli[static_cast<std::size_t>(card)] < task.milli) continue;
            if (has_twin_before(load, card)) continue;
            const double after = value(load_after(load, task, card_bit(card)));
            if (chosen != 0 && after <= best) continue;
            best = after;
            chosen = card_bit(card);
        }
        return {score(start, best), chosen};
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load, const Task& task) override {
        if (mix_.empty()) return best_fit_->terms(load, task);
        const NodeLoad after = load_after(load, task, rate(load, task, 0).cards);
        return {{"fill", fill(after) - fill(load)},
                {"pieces", pieces(after) - pieces(load)},
                {"reserve", reserve(after) - reserve(load)},
                {"price", -price(load, task)}};
    }

  private:
    static std::int32_t score(double start, double after) {
        return static_cast<std::int32_t>(std::floor((after - start) / kQuantum));
    }

    // The terms of the score, weighted. In the header's order they are not added up: the sum is of
    // doubles, and its order decides now and then.
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
    [[nodiscard]] double price(const NodeLoad& load, const Task& task) const {
        return task.count == 0
                   ? 0
                   : weights_.price * scarcity_.price(load.model) * task.milli * task.count;
    }

    void learn(std::uint64_t longest_wait) {
        const std::uint64_t wait = std::min(next_look_ / 2, longest_wait);
        next_look_ += wait;
        mix_ = learnt_.mix();
        // While the mix is hardly known all streams are drawn anew, later a part of them.
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
    std::shared_ptr<FleetPolicy> best_fit_;  // keeps nothing: copies share it
    std::vector<MixClass> mix_;
    std::uint64_t arrivals_ = 0;
    std::uint64_t next_look_ = 0;  // arrivals
};

}  // namespace

std::unique_ptr<FleetPolicy> expected_fill_policy(const PolicyInputs& inputs,
                                                  const ExpectedFillWeights& weights, bool learns) {
    return std::make_unique<ExpectedFill>(inputs, weights, learns);
}

}  // namespace tessera
