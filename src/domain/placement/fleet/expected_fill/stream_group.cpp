#include "domain/placement/fleet/expected_fill/stream_group.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/check.hpp"

namespace tessera {
namespace {

constexpr std::int32_t kCpuBucket = 512;
constexpr std::size_t kMostCpuBuckets = 1024;

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Draws {
  public:
    explicit Draws(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
        return mixed ^ (mixed >> 31);
    }
    // From 0 to 1, without 1.
    double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

}  // namespace

StreamGroup::StreamGroup(std::span<const MixClass> mix, const StreamDraw& draw) {
    TESSERA_CHECK(mix.size() <= kMostClasses, "a mix of streams has at most kMostClasses");
    if (mix.empty()) return;
    draw_tasks(mix, draw);
    note_levels();
}

// At each place of the stream a systematic sample of the mix, dealt to the streams at random. Tasks
// that are alike stand beside each other in the sample's order, so that it holds as much of each
// kind as the mix, whatever the offset.
void StreamGroup::draw_tasks(std::span<const MixClass> mix, const StreamDraw& draw) {
    std::vector<MixClass> order(mix.begin(), mix.end());
    std::ranges::sort(order, [](const MixClass& a, const MixClass& b) {
        return std::tuple(a.milli * a.count, a.count, a.cpu_milli, a.models) >
               std::tuple(b.milli * b.count, b.count, b.cpu_milli, b.models);
    });
    double total = 0;
    std::vector<double> up_to;
    for (const MixClass& m : order) {
        total += m.share;
        up_to.push_back(total);
        // A card of which nothing is asked is no card to a stream.
        const bool has_cards = m.milli > 0;
        classes_.push_back({m.cpu_milli, m.milli, has_cards ? m.count : std::int16_t{0}, m.models});
    }
    streams_.resize(kGroupStreams);
    Draws offsets(draw.seed);
    Draws deals(draw.seed ^ (0xA0761D6478BD642FU * (draw.group + 1)));
    std::array<std::size_t, kGroupStreams> dealt{};
    for (std::size_t place = 0; place < kStreamLength; ++place) {
        const double offset = offsets.fraction();
        const std::size_t turn = (draw.group + place) % draw.groups;
        std::iota(dealt.begin(), dealt.end(), std::size_t{0});
        for (std::size_t left = kGroupStreams; left > 1; --left)
            std::swap(dealt[left - 1], dealt[deals.next() % left]);
        for (std::size_t i = 0; i < kGroupStreams; ++i) {
            const double at = (static_cast<double>(i * draw.groups + turn) + offset) /
                              static_cast<double>(kGroupStreams * draw.groups) * total;
            const auto found = std::ranges::upper_bound(up_to, at) - up_to.begin();
            const auto task = std::min(static_cast<std::size_t>(found), order.size() - 1);
            streams_[dealt[i]].tasks[place] = static_cast<std::uint16_t>(task);
        }
    }
}

void StreamGroup::note_levels() {
    std::vector<std::int16_t> piece_steps;
    for (const Class& one : classes_) {
        cpu_steps_.push_back(one.cpu_milli);
        if (one.count > 0 && one.milli < kMilliPerCard) piece_steps.push_back(one.milli);
    }
    const auto only_once = [](auto& steps) {
        std::ranges::sort(steps);
        const auto rest = std::ranges::unique(steps);
        steps.erase(rest.begin(), rest.end());
    };
    only_once(cpu_steps_);
    only_once(piece_steps);
    least_piece_ = piece_steps.empty() ? std::int16_t{kMilliPerCard} : piece_steps.front();
    if (cpu_steps_.size() > 255) cpu_steps_.resize(255);
    if (piece_steps.size() > 255) piece_steps.resize(255);

    const auto most_cpu = static_cast<std::size_t>(std::max(cpu_steps_.back(), 0));
    const std::size_t buckets = std::min(most_cpu / kCpuBucket + 2, kMostCpuBuckets);
    for (std::size_t i = 0; i < buckets; ++i) {
        const auto from = static_cast<std::int32_t>(i) * kCpuBucket;
        const auto below = std::ranges::lower_bound(cpu_steps_, from) - cpu_steps_.begin();
        cpu_bucket_.push_back(static_cast<std::uint8_t>(below));
    }
    for (int free = 0; free <= kMilliPerCard; ++free) {
        const auto below = std::ranges::upper_bound(piece_steps, free) - piece_steps.begin();
        piece_level_[static_cast<std::size_t>(free)] = static_cast<std::uint8_t>(below);
    }
    piece_levels_ = piece_steps.size();

    const std::size_t cpu_levels = cpu_steps_.size() + 1;
    const std::size_t card_levels = piece_levels_ + kMaxCards + 1;
    by_cpu_.resize(kGroupStreams * cpu_levels);
    by_cards_.resize(kGroupStreams * card_levels);
    by_model_.resize(kGroupStreams * kMaxModels);
    for (std::size_t stream = 0; stream < kGroupStreams; ++stream) {
        for (std::size_t place = 0; place < kStreamLength; ++place) {
            const Class& one = classes_[streams_[stream].tasks[place]];
            const Tasks bit = Tasks{1} << place;
            // A level says what may fit; take() looks whether it does.
            const auto cpu = static_cast<std::size_t>(
                std::ranges::upper_bound(cpu_steps_, one.cpu_milli) - cpu_steps_.begin());
            for (std::size_t level = cpu; level < cpu_levels; ++level)
                by_cpu_[stream * cpu_levels + level] |= bit;
            std::size_t cards = 0;
            if (one.count > 0) {
                cards = one.milli < kMilliPerCard
                            ? piece_level_[static_cast<std::size_t>(one.milli)]
                            : piece_levels_ + static_cast<std::size_t>(one.count);
            }
            for (std::size_t level = cards; level < card_levels; ++level)
                by_cards_[stream * card_levels + level] |= bit;
            for (std::size_t model = 0; model < kMaxModels; ++model) {
                if (one.count == 0 || (one.models & model_bit(static_cast<int>(model))) != 0)
                    by_model_[stream * kMaxModels + model] |= bit;
            }
        }
    }
}

std::size_t StreamGroup::cpu_level(std::int32_t cpu_milli) const {
    const auto bucket = static_cast<std::size_t>(std::max(cpu_milli, 0) / kCpuBucket);
    std::size_t level = cpu_bucket_[std::min(bucket, cpu_bucket_.size() - 1)];
    while (level < cpu_steps_.size() && cpu_steps_[level] <= cpu_milli)
        ++level;
    return level;
}

std::size_t StreamGroup::card_level(const Rest& rest) const {
    if (rest.whole > 0) return piece_levels_ + static_cast<std::size_t>(rest.whole);
    if (rest.pieces == 0) return 0;
    const auto largest = rest.piece[static_cast<std::size_t>(rest.pieces - 1)];
    return piece_level_[static_cast<std::size_t>(largest)];
}

void StreamGroup::use_piece(Rest& rest, std::int32_t at, std::int16_t milli) const {
    auto i = static_cast<std::size_t>(at);
    const auto left = static_cast<std::int16_t>(rest.piece[i] - milli);
    if (left < least_piece_) {
        --rest.pieces;
        for (; i < static_cast<std::size_t>(rest.pieces); ++i)
            rest.piece[i] = rest.piece[i + 1];
        return;
    }
    for (; i > 0 && rest.piece[i - 1] > left; --i)
        rest.piece[i] = rest.piece[i - 1];
    rest.piece[i] = left;
}

bool StreamGroup::take(Rest& rest, const Class& one) const {
    if (one.cpu_milli > rest.cpu_milli) return false;
    if (one.milli == kMilliPerCard) {
        if (one.count > rest.whole) return false;
        rest.whole -= one.count;
    } else if (one.count > 0) {
        std::int32_t first = 0;
        while (first < rest.pieces && rest.piece[static_cast<std::size_t>(first)] < one.milli)
            ++first;
        if (rest.pieces - first + rest.whole < one.count) return false;
        // A piece that is used up goes, and those behind it move up.
        const std::int32_t used = std::min<std::int32_t>(one.count, rest.pieces - first);
        const std::int32_t before = rest.pieces;
        for (std::int32_t i = 0; i < used; ++i)
            use_piece(rest, first + i - (before - rest.pieces), one.milli);
        for (std::int32_t i = used; i < one.count; ++i) {
            --rest.whole;
            rest.piece[static_cast<std::size_t>(rest.pieces++)] = kMilliPerCard;
            use_piece(rest, rest.pieces - 1, one.milli);
        }
    }
    rest.cpu_milli -= one.cpu_milli;
    return true;
}

std::int32_t StreamGroup::taken(std::size_t stream, Rest rest, Tasks open) const {
    const Tasks* const by_cpu = &by_cpu_[stream * (cpu_steps_.size() + 1)];
    const Tasks* const by_cards = &by_cards_[stream * (piece_levels_ + kMaxCards + 1)];
    std::int32_t milli = 0;
    while (open != 0) {
        const Class& one =
            classes_[streams_[stream].tasks[static_cast<std::size_t>(std::countr_zero(open))]];
        open &= open - 1;
        if (!take(rest, one)) continue;
        milli += one.milli * one.count;
        open &= by_cpu[cpu_level(rest.cpu_milli)] & by_cards[card_level(rest)];
    }
    return milli;
}

std::int32_t StreamGroup::taken(const NodeLoad& load) const {
    if (streams_.empty()) return 0;
    Rest rest{.cpu_milli = load.cpu_milli};
    for (int card = 0; card < load.cards; ++card) {
        const std::int16_t free = load.milli[static_cast<std::size_t>(card)];
        if (free == kMilliPerCard) {
            ++rest.whole;
        } else if (free >= least_piece_) {
            rest.piece[static_cast<std::size_t>(rest.pieces++)] = free;
        }
    }
    std::sort(rest.piece.begin(), rest.piece.begin() + rest.pieces);
    const std::size_t cpu = cpu_level(rest.cpu_milli);
    const std::size_t cards = card_level(rest);
    const auto model = static_cast<std::size_t>(load.model);
    std::int32_t sum = 0;
    for (std::size_t stream = 0; stream < kGroupStreams; ++stream) {
        const Tasks open = by_cpu_[stream * (cpu_steps_.size() + 1) + cpu] &
                           by_cards_[stream * (piece_levels_ + kMaxCards + 1) + cards] &
                           by_model_[stream * kMaxModels + model];
        sum += taken(stream, rest, open);
    }
    return sum;
}

}  // namespace tessera
