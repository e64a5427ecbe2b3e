#include "guard/arbiter/reading.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "guard/region/account.hpp"
#include "guard/region/life.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {
namespace {

bool read_at(int fd, void* into, std::size_t size, std::size_t offset) {
    return pread(fd, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

bool read_account(int fd, int gpu, Account& account) {
    const std::size_t offset =
        offsetof(Accounts, gpus) + static_cast<std::size_t>(gpu) * sizeof(Account);
    return read_at(fd, &account, sizeof account, offset);
}

bool read_next_slot(int fd, unsigned& next) {
    return read_at(fd, &next, sizeof next, offsetof(Accounts, next_slot));
}

bool read_slots_end(int fd, int& end) {
    std::uint32_t written = 0;
    if (!read_at(fd, &written, sizeof written, offsetof(Accounts, slots_end))) return false;
    end = static_cast<int>(std::min(written, std::uint32_t{kMaxProcesses}));
    return true;
}

constexpr int kPortions = kMaxProcesses / kSlotsAtOnce;
static_assert(kMaxProcesses % kSlotsAtOnce == 0);
using Portions = std::bitset<kPortions>;

std::int64_t time_of(const std::atomic<std::int64_t>& written) {
    return std::clamp(written.load(), std::int64_t{0}, kMaxTimeNs);
}

// Asks the kernel which slots have a live process.
class Lives {
  public:
    Lives(int fd, std::int64_t longest_ns) : fd_(fd), longest_ns_(longest_ns) {}

    // A slot of [first, end) with a live process; -1: there is none.
    int find(int first, int end) {
        if (asked_ns_ > longest_ns_) return first;
        const std::int64_t before = monotonic_ns();
        struct flock lock = {};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_start = first;
        lock.l_len = end - first;
        const bool is_reported = fcntl(fd_, F_OFD_GETLK, &lock) == 0;
        asked_ns_ += monotonic_ns() - before;
        if (!is_reported || lock.l_type == F_UNLCK) return -1;
        return static_cast<int>(std::clamp<off_t>(lock.l_start, first, end - 1));
    }

    bool lives_in(int slot) { return find(slot, slot + 1) >= 0; }

  private:
    const int fd_;
    const std::int64_t longest_ns_;
    std::int64_t asked_ns_ = 0;
};

// The slots of the accounts, portion by portion.
class Times {
  public:
    Times(int fd, int gpu, std::int64_t now, const KnownTimes* known, ContainerReading& reading,
          std::int64_t longest_queries_ns)
        : fd_(fd), gpu_(gpu), now_(now), reading_(reading), lives_(fd, longest_queries_ns) {
        if (known == nullptr || known->readings == 0) return;
        known_ = known;
        reading_.waited_ns = known->waited_ns;
    }

    bool read() {
        if (!read_next_slot(fd_, reading_.next_slot) || !read_slots_end(fd_, end_)) return false;
        const Portions portions = to_read();
        if (portions.any()) portion_ = std::make_unique<Portion>();
        for (int portion = 0; portion < kPortions; portion++)
            if (portions[static_cast<std::size_t>(portion)] && !read_portion(portion)) return false;
        return true;
    }

  private:
    struct Portion {
        ProcessTime times[kSlotsAtOnce][kMaxGpus];
        BusyIntervalLog logs[kSlotsAtOnce];
    };

    Portions to_read() {
        Portions portions;
        const int count = (end_ + kSlotsAtOnce - 1) / kSlotsAtOnce;
        if (known_ == nullptr) {
            for (int portion = 0; portion < count; portion++)
                portions.set(static_cast<std::size_t>(portion));
            return portions;
        }
        if (count > 0) portions.set(known_->readings % static_cast<unsigned>(count));
        add_taken_since(portions);
        for (int slot = 0; slot < end_; slot++) {
            const KnownTimes::Process* before = known(slot);
            if (before == nullptr || !before->is_busy) continue;
            portions.set(static_cast<std::size_t>(slot / kSlotsAtOnce));
        }
        const Portions without_asking = portions;
        for (int portion = 0; portion < count; portion++) {
            int last = portion;
            while (last < count && !without_asking[static_cast<std::size_t>(last)])
                last++;
            add_living(portion, last, portions);
            portion = last;
        }
        return portions;
    }

    // The processes that took them may be dead already.
    void add_taken_since(Portions& portions) const {
        const unsigned taken =
            std::min(reading_.next_slot - known_->next_slot, static_cast<unsigned>(kMaxProcesses));
        for (unsigned i = 0; i < taken; i++) {
            const auto slot = static_cast<int>((known_->next_slot + i) % unsigned{kMaxProcesses});
            if (slot < end_) portions.set(static_cast<std::size_t>(slot / kSlotsAtOnce));
        }
    }

    // Queries all of them together first, and then those on both sides of the one found.
    void add_living(int first, int end, Portions& portions) {
        while (first < end) {
            const int found = lives_.find(first * kSlotsAtOnce, end * kSlotsAtOnce);
            if (found < 0) return;
            const int portion = found / kSlotsAtOnce;
            portions.set(static_cast<std::size_t>(portion));
            add_living(first, portion, portions);
            first = portion + 1;
        }
    }

    bool read_portion(int portion) {
        const int first = portion * kSlotsAtOnce;
        const auto count = static_cast<std::size_t>(std::min(kSlotsAtOnce, end_ - first));
        const std::size_t offset = offsetof(Accounts, times) +
                                   static_cast<std::size_t>(first) * sizeof(Accounts::times[0]);
        if (!read_at(fd_, portion_->times, count * sizeof(Accounts::times[0]), offset))
            return false;
        const std::size_t before = reading_.processes.size();
        for (int slot = first; slot < first + static_cast<int>(count); slot++)
            add(slot, portion_->times[slot - first][gpu_]);
        return known_ == nullptr || add_intervals(first, before);
    }

    [[nodiscard]] const KnownTimes::Process* known(int slot) const {
        const auto index = static_cast<std::size_t>(slot);
        if (known_ == nullptr || index >= known_->processes.size()) return nullptr;
        const KnownTimes::Process& process = known_->processes[index];
        return process.is_known ? &process : nullptr;
    }

    void add(int slot, const ProcessTime& time) {
        const KnownTimes::Process* before = known(slot);
        const bool is_waiting = time.waiting.load() != 0;
        const bool is_open = is_waiting || time_of(time.in_flight[0].since_ns) != 0 ||
                             time_of(time.in_flight[1].since_ns) != 0;
        const bool lives = is_open && lives_.lives_in(slot);
        const std::int64_t believed = std::min(believed_until(time), now_);
        ProcessReading process;
        process.waited_ns = time_of(time.waited_ns);
        if (before != nullptr) {
            process.logged = before->logged;
            std::ranges::copy(before->last_logged, process.last_logged);
        } else if (known_ == nullptr) {
            process.logged = kNeverRead;
        }
        for (int kind = 0; kind < kWorkKinds; kind++) {
            add_busy_interval(kind, time.in_flight[kind], before, {lives, believed}, process);
            keep_unsaid(kind, slot, before, process);
        }
        reading_.waits |= lives && is_waiting && believed == now_;
        const std::int64_t waited = process.waited_ns - (before != nullptr ? before->waited_ns : 0);
        reading_.waited_ns = std::clamp(reading_.waited_ns + waited, std::int64_t{0}, kMaxTimeNs);
        if (before != nullptr && !before->is_busy && !process.is_busy && waited == 0) return;
        reading_.processes.push_back({slot, std::move(process)});
    }

    // Whether a process is alive, and until when it is believed.
    struct Life {
        bool lives;
        std::int64_t believed_ns;
    };

    void add_busy_interval(int kind, const InFlight& time, const KnownTimes::Process* before,
                           Life life, ProcessReading& process) {
        const std::int64_t since = time_of(time.since_ns);
        std::int64_t total = time_of(time.total_ns);
        process.ended_ns[kind] = total;
        process.is_busy |= before == nullptr || total != before->in_flight_ns[kind];
        if (since != 0 && since < now_) {
            process.since_ns[kind] = since;
            // A dead process stays dead, even if the kernel is not queried.
            const bool lives =
                life.lives &&
                (before == nullptr || before->since_ns[kind] != since || !before->is_lost[kind]);
            process.is_lost[kind] = !lives;
            const std::int64_t until =
                lives ? life.believed_ns
                      : std::min(until_death(kind, since, before), life.believed_ns);
            if (since < until) {
                // Time beyond believed_ns does not count until the process reports how the work
                // ended.
                if (known_ == nullptr || until > known_->as_of_ns) {
                    process.is_busy = true;
                    process.spans[kind].push_back({since, until});
                }
                process.lost_ns[kind] = lives ? 0 : until - since;
                total += until - since;
            }
        }
        const std::int64_t most = kMaxTimeNs - in_flight_ns_[kind];
        process.in_flight_ns[kind] = std::min(total, most);
        process.lost_ns[kind] = std::min(process.lost_ns[kind], process.in_flight_ns[kind]);
        in_flight_ns_[kind] += process.in_flight_ns[kind];
    }

    // A process first reports that a work interval has ended, and then how much of it was work. If
    // it dies in between, it gets nothing back.
    void keep_unsaid(int kind, int slot, const KnownTimes::Process* before,
                     ProcessReading& process) {
        if (before == nullptr || process.ended_ns[kind] != before->ended_ns[kind]) return;
        const std::int64_t unsaid = before->in_flight_ns[kind] - process.in_flight_ns[kind];
        if (unsaid <= 0 || lives_.lives_in(slot)) return;
        const std::int64_t kept = std::min(unsaid, kMaxTimeNs - in_flight_ns_[kind]);
        process.in_flight_ns[kind] += kept;
        process.lost_ns[kind] += kept;
        in_flight_ns_[kind] += kept;
    }

    // The end of a dead process's work interval. It was not logged, so it is as late as it can be.
    // Returns `since` if the interval is counted already, or if it began before the last reading
    // but was not in it.
    [[nodiscard]] std::int64_t until_death(int kind, std::int64_t since,
                                           const KnownTimes::Process* before) const {
        if (known_ == nullptr) return since;
        const bool is_known = before != nullptr && before->since_ns[kind] == since;
        if (is_known) return before->is_lost[kind] ? since : now_;
        return since >= known_->as_of_ns ? now_ : since;
    }

    // Adds the work intervals in the logs of the processes that had any since the last reading. The
    // logs are read after the times, so work that ended in between is known both as an interval and
    // as in flight.
    bool add_intervals(int first, std::size_t from) {
        const auto had_work = [this](const SlotReading& of) {
            const KnownTimes::Process* before = known(of.slot);
            return of.process.is_busy || (before != nullptr && before->is_busy);
        };
        auto& all = reading_.processes;
        int low = -1;
        int high = -1;
        for (std::size_t i = from; i < all.size(); i++) {
            if (!had_work(all[i])) continue;
            if (low < 0) low = all[i].slot;
            high = all[i].slot;
        }
        if (low < 0) return true;
        const std::size_t offset =
            offsetof(Accounts, logs) + static_cast<std::size_t>(low) * sizeof(BusyIntervalLog);
        const auto count = static_cast<std::size_t>(high - low) + 1;
        if (!read_at(fd_, &portion_->logs[low - first], count * sizeof(BusyIntervalLog), offset))
            return false;
        for (std::size_t i = from; i < all.size(); i++) {
            if (had_work(all[i]))
                add_intervals(portion_->logs[all[i].slot - first], all[i].process);
        }
        return true;
    }

    void add_intervals(const BusyIntervalLog& log, ProcessReading& process) const {
        const std::uint64_t total = log.total.load();
        const bool is_new_log = process.logged == kNeverRead || process.logged > total;
        const std::uint64_t first_new = is_new_log ? total : process.logged;
        std::uint64_t number = total - std::min(total, std::uint64_t{kLogEntries});
        for (; number < total; number++) {
            const BusyIntervalLog::Entry& entry = log.entries[number % kLogEntries];
            const WorkInterval interval =
                unpack_interval(time_of(entry.start_ns), entry.what.load());
            if (interval.gpu != gpu_ || static_cast<int>(interval.kind) >= kWorkKinds) continue;
            const std::int64_t end = std::min(interval.start_ns + interval.ns, now_);
            if (interval.start_ns >= end) continue;
            const auto kind = static_cast<int>(interval.kind);
            if (number >= first_new) add_ended({interval.start_ns, end}, kind, process);
            if (end <= known_->as_of_ns) continue;
            auto& spans = process.spans[kind];
            if (spans.size() <= 1) spans.reserve(kLogEntries + 1);
            spans.push_back({interval.start_ns, end});
        }
        process.logged = total;
    }

    // The interval, or a piece of one, that was logged after those that were added before.
    static void add_ended(Span piece, int kind, ProcessReading& process) {
        Span& last = process.last_logged[kind];
        const bool is_next_piece = last.end_ns == piece.start_ns;
        const std::int64_t before_ns = is_next_piece ? last.end_ns - last.start_ns : 0;
        last = {is_next_piece ? last.start_ns : piece.start_ns, piece.end_ns};
        process.ended[kind].push_back({last.start_ns, last.end_ns - last.start_ns, before_ns});
    }

    // The log of a slot at the first reading of its container.
    static constexpr std::uint64_t kNeverRead = UINT64_MAX;

    const int fd_;
    const int gpu_;
    const std::int64_t now_;
    const KnownTimes* known_ = nullptr;  // null if the accounts were never read
    ContainerReading& reading_;
    Lives lives_;
    int end_ = 0;
    std::int64_t in_flight_ns_[kWorkKinds] = {};  // of the processes read so far
    std::unique_ptr<Portion> portion_;
};

}  // namespace

bool read_times(int accounts_fd, int gpu, std::int64_t now, ContainerReading& reading,
                const KnownTimes* known, std::int64_t longest_queries_ns) {
    return Times(accounts_fd, gpu, now, known, reading, longest_queries_ns).read();
}

bool read_memory_use(int accounts_fd, int gpu, MemoryReading& reading) {
    Account account = {};
    Slot slot = {};
    constexpr std::size_t kOffset =
        offsetof(Accounts, slots) + std::size_t{kOrphanSlot} * sizeof(Slot);
    if (!read_account(accounts_fd, gpu, account) ||
        !read_at(accounts_fd, &slot, sizeof slot, kOffset))
        return false;
    constexpr std::uint64_t kMost = INT64_MAX;
    reading = {held(account), held_by(account, gpu, {kOrphanSlot, slot}),
               std::min(account.refusals.load(), kMost),
               std::min(account.refused_contexts.load(), kMost)};
    return true;
}

// Reads only slots that were ever taken, and queries the kernel only about those with a process.
bool read_holders(int accounts_fd, int gpu, std::vector<ProcessMemory>& holders) {
    Account account = {};
    int end = 0;
    if (!read_account(accounts_fd, gpu, account) || !read_slots_end(accounts_fd, end)) return false;
    for (int first = 0; first < end; first += kSlotsAtOnce) {
        Slot slots[kSlotsAtOnce] = {};
        const int count = std::min(kSlotsAtOnce, end - first);
        const std::size_t offset =
            offsetof(Accounts, slots) + static_cast<std::size_t>(first) * sizeof(Slot);
        if (!read_at(accounts_fd, slots, static_cast<std::size_t>(count) * sizeof(Slot), offset))
            return false;
        for (int i = 0; i < count; i++) {
            const AllocationUnits units = held_by(account, gpu, {first + i, slots[i]});
            const int pid = std::max(slots[i].pid.load(), 0);
            if ((units == 0 && pid == 0) || !is_alive(accounts_fd, first + i)) continue;
            holders.push_back({pid, units});
        }
    }
    return true;
}

}  // namespace tessera::guard
