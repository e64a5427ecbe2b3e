#include "adapters/guard/time_sharer.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "guard/arbiter/tick.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 10ms;
// Where nobody has had work for some ticks: whoever begins has a little to begin with.
constexpr auto kQuietTick = 50ms;
constexpr int kTicksUntilQuiet = 20;
// Where no card's time is shared out.
constexpr auto kIdle = 1000ms;
// Pods also go without a word.
constexpr auto kLook = 2s;

std::string uuid_text(const guard::CardLimit& limit) {
    return std::string(std::begin(limit.uuid), std::end(limit.uuid));
}

}  // namespace

struct TimeSharer::Card {
    struct Tenant {
        OpenRegion* held;
        int card;  // in its limits
    };

    std::map<std::string, Tenant> tenants;  // by POD/CONTAINER
    std::map<std::string, guard::Arbiter::Id> ids;
    guard::Arbiter::Id next_id = 0;
    guard::Arbiter arbiter;
    int quiet_ticks = 0;

    [[nodiscard]] bool is_timed() const {
        return std::ranges::any_of(tenants, [](const auto& entry) {
            const guard::CardLimit& limit = entry.second.held->limits().cards[entry.second.card];
            return limit.cores.load() > 0 || limit.ceiling.load() < guard::kWhole;
        });
    }
};

TimeSharer::TimeSharer(fs::path pods, Clock& clock) : pods_(std::move(pods)), clock_(clock) {}
TimeSharer::~TimeSharer() = default;

// Which containers there are, and which cards they share.
void TimeSharer::look() {
    std::set<std::string> found;
    std::error_code error;
    for (const auto& pod : fs::directory_iterator(pods_, error)) {
        for (const auto& region : fs::directory_iterator(pod.path(), error)) {
            const std::string name = pod.path().filename() / region.path().filename();
            auto& held = held_[name];
            if (held == nullptr || !held->is_still(region.path()))
                held = OpenRegion::open(region.path());
            if (held == nullptr) continue;
            held->cut_back();
            found.insert(name);
        }
    }
    for (auto& [uuid, card] : cards_)
        card->tenants.clear();
    std::erase_if(held_, [&](const auto& entry) { return !found.contains(entry.first); });
    for (const auto& [name, held] : held_) {
        for (unsigned i = 0; i < held->limits().card_count; i++) {
            auto& card = cards_[uuid_text(held->limits().cards[i])];
            if (card == nullptr) card = std::make_unique<Card>();
            card->tenants[name] = {held.get(), static_cast<int>(i)};
            if (!card->ids.contains(name)) card->ids[name] = card->next_id++;
        }
    }
    std::erase_if(cards_, [](const auto& entry) { return entry.second->tenants.empty(); });
    for (const auto& [uuid, card] : cards_) {
        std::erase_if(card->ids,
                      [&](const auto& entry) { return !card->tenants.contains(entry.first); });
        for (const auto& [name, tenant] : card->tenants)
            tenant.held->limits().cards[tenant.card].is_timed.store(card->is_timed() ? 1 : 0);
    }
    looked_at_ = clock_.steady();
}

std::chrono::milliseconds TimeSharer::tick() {
    std::chrono::milliseconds next = kIdle;
    for (const auto& [uuid, card] : cards_) {
        if (!card->is_timed()) continue;
        std::vector<guard::Sharer> sharers;
        for (const auto& [name, tenant] : card->tenants) {
            sharers.push_back(
                {card->ids[name], &tenant.held->limits(), tenant.held->accounts(), tenant.card});
        }
        guard::tick(card->arbiter, sharers);
        card->quiet_ticks = card->arbiter.is_quiet() ? card->quiet_ticks + 1 : 0;
        next = std::min<std::chrono::milliseconds>(
            next, card->quiet_ticks < kTicksUntilQuiet ? kTick : kQuietTick);
    }
    return next;
}

void TimeSharer::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (has_changed_.exchange(false) || clock_.steady() - looked_at_ > kLook) look();
        clock_.sleep_for(tick(), stop);
    }
}

}  // namespace tessera
