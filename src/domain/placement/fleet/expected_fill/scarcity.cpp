#include "domain/placement/fleet/expected_fill/scarcity.hpp"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kMost = 2;
constexpr double kMostRenewal = 100;

std::int32_t whole_cards(const NodeLoad& load) {
    std::int32_t whole = 0;
    for (const std::int16_t free : load.milli)
        whole += free == kMilliPerCard ? 1 : 0;
    return whole;
}

}  // namespace

std::int32_t Scarcity::copies(const Room& room, const NodeLoad& load, std::int32_t whole) {
    if ((room.models & model_bit(load.model)) == 0) return 0;
    const std::int32_t by_cards = whole / room.count;
    return room.cpu_milli > 0 ? std::min(by_cards, load.cpu_milli / room.cpu_milli) : by_cards;
}

double Scarcity::renewal(const Fleet& fleet) {
    taken_ = taken_ / 2 + static_cast<double>(fleet.placed_milli() - placed_milli_);
    given_back_ = given_back_ / 2 + static_cast<double>(fleet.released_milli() - released_milli_);
    placed_milli_ = fleet.placed_milli();
    released_milli_ = fleet.released_milli();
    if (taken_ <= 0) return 1;
    const double kept = 1 - given_back_ / taken_;
    return 1 / std::clamp(kept, 1 / kMostRenewal, 1.0);
}

void Scarcity::update(std::span<const MixClass> mix, const Fleet& fleet) {
    std::array<double, kMaxModels> idle_of{};
    double idle = 0;
    for (std::size_t node = 0; node < fleet.size(); ++node) {
        const NodeLoad& load = fleet.load(node);
        const int free = load.free_milli();
        idle_of.at(static_cast<std::size_t>(load.model)) += free;
        idle += free;
    }
    double asked = 0;  // thousandths of a card per task
    for (const MixClass& m : mix)
        asked += m.share * m.milli * m.count;
    const double renewed = renewal(fleet);
    rooms_.clear();
    prices_.fill(0);
    if (asked <= 0) return;

    for (const MixClass& m : mix) {
        const double expected = idle * m.share / asked;
        if (m.count > 1 && m.milli == kMilliPerCard) {
            Room room{m.cpu_milli, m.count, m.models, 0};
            double all = 0;
            for (std::size_t node = 0; node < fleet.size(); ++node) {
                const NodeLoad& load = fleet.load(node);
                all += copies(room, load, whole_cards(load));
            }
            const double scarce = all > 0 ? std::min(kMost, renewed * expected / all) : kMost;
            room.worth = kMilliPerCard * m.count * scarce;
            rooms_.push_back(room);
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
    if (rooms_.empty()) return 0;
    const std::int32_t whole = whole_cards(load);
    if (whole < 2) return 0;
    double sum = 0;
    for (const Room& room : rooms_)
        sum += room.worth * copies(room, load, whole);
    return sum;
}

}  // namespace tessera
