#include "app/scheduler/leader/election.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

// An upper bound, whatever the stored object says: a user may have edited it.
constexpr std::chrono::seconds kLongestDuration{60};

}  // namespace

Election::Election(LeaseStore& store, Clock& clock, ElectionOptions options,
                   std::function<void(int term)> elected)
    : store_(store), clock_(clock), options_(std::move(options)), elected_(std::move(elected)) {}

void Election::run(const std::stop_token& stop) {
    while (!stop.stop_requested())
        clock_.sleep_for(step(), stop);
    give_back();
}

std::chrono::milliseconds Election::step() {
    const bool is_candidate = !options_.is_candidate || options_.is_candidate();
    if (mine_ && !is_candidate) {
        give_back();
        return options_.retry;
    }
    const auto pause = mine_ ? renew() : look(is_candidate);
    return mine_ && won_ ? announce(pause) : pause;
}

// Waits until the last write of an earlier process with our identity has landed: the list that
// follows must show it.
std::chrono::milliseconds Election::announce(std::chrono::milliseconds pause) {
    const auto rest =
        std::chrono::ceil<std::chrono::milliseconds>(won_->writes_from - clock_.steady());
    if (rest.count() > 0) return std::min(pause, rest);
    const int term = std::exchange(won_, std::nullopt)->term;
    elected_(term);
    return pause;
}

// The Lease is good from before the renewal was sent; a replica that reads it counts from a later
// time.
std::chrono::milliseconds Election::renew() {
    Lease next = *mine_;
    next.renewed_ns = clock_.unix_ns();
    const auto begin = clock_.steady();
    auto written = store_.write(next);
    if (written) {
        mine_ = *std::move(written);
        mine_->acquired_ns = next.acquired_ns;
        const MutexLock lock(mutex_);
        good_until_ = begin + options_.duration;
        return options_.renew;
    }
    log_event(Event::lease_error, {{"reason", written.error().text}});
    if (!is_good()) lose();
    if (written.error().code == Code::not_found) lose();
    if (written.error().code != Code::conflict) return options_.retry;
    // Another replica's write, or our own whose answer was lost: reading shows which.
    mine_.reset();
    return std::chrono::milliseconds(0);
}

std::chrono::milliseconds Election::look(bool is_candidate) {
    const auto found = store_.read();
    if (!found) {
        log_event(Event::lease_error, {{"reason", found.error().text}});
        return options_.retry;
    }
    const Lease lease = found->value_or(Lease{});
    const bool ours = lease.holder == options_.identity;
    if (ours && is_good()) {
        mine_ = lease;
        return options_.retry;
    }
    lose();
    const auto now = clock_.steady();
    if (lease.version != seen_version_ || seen_since_ == std::chrono::nanoseconds{}) {
        seen_version_ = lease.version;
        seen_since_ = now;
    }
    {
        const MutexLock lock(mutex_);
        leader_url_ = lease.holder.empty() || ours ? "" : lease.url;
    }
    const auto lasts =
        std::clamp(std::chrono::seconds(lease.duration_s), options_.duration, kLongestDuration);
    // A missing Lease may have been deleted a moment ago, and its holder may still write by it.
    const bool is_given_back = lease.holder.empty() && !lease.version.empty();
    const bool is_free = is_given_back || ours || now - seen_since_ > lasts;
    if (!is_free || !is_candidate) return options_.retry;
    const auto taken = take(lease);
    if (!taken && taken.error().code != Code::conflict) {
        log_event(Event::lease_error, {{"reason", taken.error().text}});
    }
    return taken ? options_.renew : options_.retry;
}

Result<> Election::take(const Lease& from) {
    Lease next = from;
    next.holder = options_.identity;
    next.url = options_.url;
    next.duration_s = options_.duration.count();
    next.acquired_ns = next.renewed_ns = clock_.unix_ns();
    next.transitions = from.transitions + (from.holder == options_.identity ? 0 : 1);
    const auto begin = clock_.steady();
    TRY(mine_, store_.write(next));
    mine_->acquired_ns = next.acquired_ns;
    {
        const MutexLock lock(mutex_);
        good_until_ = begin + options_.duration;
        const bool was_another = from.holder == options_.identity && term_ == 0;
        won_ = {.term = ++term_, .writes_from = was_another ? begin + options_.write : begin};
        // Even if we give the Lease back at once, our successor must not list before that.
        last_write_ends_ = std::max(last_write_ends_, won_->writes_from);
        term_begun_ = false;
        leader_url_.clear();
    }
    log_event(Event::leading, {{"identity", options_.identity}});
    return {};
}

void Election::lose() {
    mine_.reset();
    won_.reset();
    const MutexLock lock(mutex_);
    if (good_until_ == std::chrono::nanoseconds{}) return;
    good_until_ = {};
    term_begun_ = false;
    log_event(Event::leading_no_more, {{"identity", options_.identity}});
}

void Election::give_back() {
    if (!mine_) return;
    // A write whose answer was lost may still be under way. Our successor lists the pods at once.
    // The Lease is good for longer than this wait (begin_write).
    const auto rest = [this] {
        const MutexLock lock(mutex_);
        term_begun_ = false;
        return last_write_ends_ - clock_.steady();
    }();
    if (rest > std::chrono::nanoseconds::zero()) {
        clock_.sleep_for(std::chrono::ceil<std::chrono::milliseconds>(rest));
    }
    Lease free = *std::move(mine_);
    lose();
    free.holder.clear();
    free.url.clear();
    const auto written = store_.write(free);
    if (!written) log_event(Event::lease_error, {{"reason", written.error().text}});
}

bool Election::is_good() const {
    const auto now = clock_.steady();
    const MutexLock lock(mutex_);
    return now < good_until_;
}

void Election::begin_term(int term) {
    const MutexLock lock(mutex_);
    if (term == term_ && good_until_ != std::chrono::nanoseconds{}) term_begun_ = true;
}

void Election::wait_to_write(std::chrono::milliseconds most, const std::stop_token& stop) const {
    constexpr std::chrono::milliseconds kPoll{10};
    const auto deadline = clock_.steady() + most;
    while (!may_write(options_.write) && clock_.steady() < deadline && !stop.stop_requested())
        clock_.sleep_for(kPoll, stop);
}

bool Election::may_write(std::chrono::nanoseconds within) const {
    const auto end = clock_.steady() + within;
    const MutexLock lock(mutex_);
    return covers(end);
}

bool Election::begin_write(std::chrono::nanoseconds within) {
    const auto end = clock_.steady() + within;
    const MutexLock lock(mutex_);
    if (!covers(end)) return false;
    last_write_ends_ = std::max(last_write_ends_, end);
    return true;
}

bool Election::covers(std::chrono::nanoseconds end) const {
    return term_begun_ && end < good_until_;
}

std::string Election::leader_url() const {
    const MutexLock lock(mutex_);
    return leader_url_;
}

}  // namespace tessera
