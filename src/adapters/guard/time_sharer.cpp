#include "adapters/guard/time_sharer.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "guard/arbiter/tick.hpp"

namespace fs = std::filesystem;

namespace tessera {
namespace {

using namespace std::chrono_literals;

// Where nobody has had work for some time: whoever begins has a little to begin with. Sooner than
// a container takes the arbiter to be late (guard/compute/balance_now.cpp).
constexpr auto kQuietTick = 40ms;
constexpr auto kUntilQuiet = 200ms;
// Where no card's time is shared out.
constexpr auto kIdle = 1000ms;
// Pods also go without a word.
constexpr auto kLook = 2s;

// What is known of a container's time is of the file that it was read in.
std::string ledger_of(const std::string& name, const OpenRegion& region) {
    return name + " " + std::to_string(region.accounts_inode());
}

}  // namespace

struct TimeSharer::Card {
    std::vector<guard::Sharer> sharers;
    std::map<std::string, guard::Arbiter::Id> ids;  // by ledger_of()
    guard::Arbiter::Id next_id = 0;
    guard::Arbiter arbiter;
    std::chrono::nanoseconds at_work_at{};
    std::chrono::nanoseconds due_at{};

    [[nodiscard]] bool is_timed() const {
        return std::ranges::any_of(sharers, [](const guard::Sharer& sharer) {
            const guard::CardLimit& limit = sharer.limits->cards[sharer.card];
            return limit.cores.load() > 0 || limit.ceiling.load() < guard::kWhole;
        });
    }
};

TimeSharer::TimeSharer(fs::path pods, Clock& clock) : pods_(std::move(pods)), clock_(clock) {}
TimeSharer::~TimeSharer() = default;

// Which containers there are, and which cards they share.
void TimeSharer::look() {
    const std::scoped_lock lock(mutex_);
    std::set<std::string> found;
    for_each_region(pods_, [&](const RegionPath& region) {
        const std::string name = fs::path(region.pod) / region.container;
        auto& held = held_[name];
        if (held == nullptr || !held->is_still(region.path)) held = OpenRegion::open(region.path);
        if (held == nullptr) return;
        held->cut_back();
        found.insert(name);
    });
    std::erase_if(held_, [&](const auto& entry) { return !found.contains(entry.first); });
    for (auto& [uuid, card] : cards_)
        card->sharers.clear();
    std::set<std::string> ledgers;
    for (const auto& [name, held] : held_) {
        if (!held->has_sound_accounts()) continue;
        const std::string ledger = ledger_of(name, *held);
        ledgers.insert(ledger);
        for (unsigned i = 0; i < held->limits().card_count; i++) {
            auto& card = cards_[card_of(held->limits().cards[i])];
            if (card == nullptr) card = std::make_unique<Card>();
            const auto [id, is_new] = card->ids.try_emplace(ledger, card->next_id);
            if (is_new) card->next_id++;
            card->sharers.push_back(
                {id->second, &held->limits(), held->accounts(), static_cast<int>(i)});
        }
    }
    std::erase_if(cards_, [](const auto& entry) { return entry.second->sharers.empty(); });
    for (const auto& [uuid, card] : cards_) {
        std::erase_if(card->ids, [&](const auto& entry) { return !ledgers.contains(entry.first); });
        const std::uint32_t is_timed = card->is_timed() ? 1 : 0;
        for (const guard::Sharer& sharer : card->sharers)
            sharer.limits->cards[sharer.card].is_timed.store(is_timed);
    }
    looked_at_ = clock_.steady();
}

std::chrono::milliseconds TimeSharer::tick() {
    std::chrono::nanoseconds next = clock_.steady() + kIdle;
    for (const auto& [uuid, card] : cards_) {
        if (!card->is_timed()) continue;
        if (card->due_at <= clock_.steady()) {
            const auto start = clock_.steady();
            {
                const std::scoped_lock lock(mutex_);
                guard::tick(card->arbiter, card->sharers, guard::monotonic_ns());
            }
            const auto now = clock_.steady();
            if (!card->arbiter.is_quiet()) card->at_work_at = now;
            const bool is_quiet = now - card->at_work_at > kUntilQuiet;
            card->due_at = now + (is_quiet ? kQuietTick : guard::until_next_tick(now - start));
        }
        next = std::min(next, card->due_at);
    }
    const auto left = next - clock_.steady();
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), 1ms);
}

CardTime TimeSharer::time_of(const std::string& container, const GpuUuid& card, TimeOf time) const {
    const std::scoped_lock lock(mutex_);
    const auto of = cards_.find(card);
    const auto held = held_.find(container);
    if (of == cards_.end() || held == held_.end()) return {};
    const auto id = of->second->ids.find(ledger_of(container, *held->second));
    if (id == of->second->ids.end()) return {};
    const guard::Arbiter& arbiter = of->second->arbiter;
    return {.kernels_ns = (arbiter.*time)(id->second, guard::WorkKind::kernels),
            .copies_ns = (arbiter.*time)(id->second, guard::WorkKind::copies)};
}

CardTime TimeSharer::had(const std::string& container, const GpuUuid& card) const {
    return time_of(container, card, &guard::Arbiter::used_ns);
}

CardTime TimeSharer::busy(const std::string& container, const GpuUuid& card) const {
    return time_of(container, card, &guard::Arbiter::busy_ns);
}

void TimeSharer::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (has_changed_.exchange(false) || clock_.steady() - looked_at_ > kLook) look();
        clock_.sleep_for(tick(), stop);
    }
}

}  // namespace tessera
