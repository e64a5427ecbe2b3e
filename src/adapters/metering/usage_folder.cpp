#include "adapters/metering/usage_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/os/text_file.hpp"
#include "base/log.hpp"
#include "domain/budget/roll_up.hpp"
#include "wire/tessera/meter_state_json.hpp"
#include "wire/tessera/usage_records_json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kState = "state.json";
constexpr std::string_view kPrefix = "records-";
constexpr std::string_view kSuffix = ".json";
constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
// About 1 MiB.
constexpr std::size_t kMostRecords = 4'000;
// A joined batch becomes no larger: the ledger takes 8 MiB at a time.
constexpr std::int64_t kMostJoinedBytes = std::int64_t{4} << 20;

// Names sort by number.
std::string name_of(std::int64_t number) {
    return fmt::format("{}{:019}{}", kPrefix, number, kSuffix);
}

// 0 if the file has no records.
std::int64_t number_of(std::string_view name) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
    name.remove_prefix(kPrefix.size());
    name.remove_suffix(kSuffix.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = error == std::errc() && end == name.data() + name.size();
    return is_number && number > 0 ? number : 0;
}

// What a write leaves when the process dies meanwhile: NAME.json.XXXXXX.
bool is_unfinished(std::string_view name) {
    const bool is_ours = name.starts_with(kPrefix) || name.starts_with(kState);
    return is_ours && name.find(".json.") != std::string_view::npos && !name.ends_with(".rejected");
}

tl::unexpected<Error> failed(const std::string& path) {
    return fail(Code::unavailable, fmt::format("{}: {}", path, std::strerror(errno)));
}

}  // namespace

Result<> UsageFolder::open() {
    const MutexLock lock(mutex_);
    std::error_code error;
    // The modes of a folder that someone else made are not ours to change.
    if (fs::create_directories(options_.folder, error))
        fs::permissions(options_.folder, fs::perms::owner_all, error);
    if (error) {
        return fail(Code::unavailable,
                    fmt::format("{}: {}", options_.folder.string(), error.message()));
    }
    for (const fs::path& path : paths_in(options_.folder)) {
        const std::string name = path.filename().string();
        if (is_unfinished(name)) fs::remove(path, error);
        const std::int64_t number = number_of(name);
        if (number == 0) continue;
        const auto size = fs::file_size(path, error);
        if (error) continue;
        batches_[name] = static_cast<std::int64_t>(size);
        bytes_ += static_cast<std::int64_t>(size);
        last_number_ = std::max(last_number_, number);
    }
    return {};
}

Result<MeterState> UsageFolder::read_state() {
    const MutexLock lock(mutex_);
    const auto text = read_text_file_up_to(path_of(kState), kMostFileBytes);
    if (!text && text.error().code == Code::not_found) return MeterState{};
    if (!text) return fail(text.error());
    auto state = read_meter_state(*text);
    if (state || state.error().code == Code::unsupported) return state;
    TRY_VOID(reject_file(kState, state.error().text));
    return MeterState{};
}

Result<> UsageFolder::write_state(const MeterState& state) {
    const MutexLock lock(mutex_);
    return write_text_file(path_of(kState), write_meter_state(state));
}

Result<> UsageFolder::write_batch(const std::string& name, std::span<const UsageRecord> records) {
    const std::string text = write_usage_records(records);
    TRY_VOID(write_text_file(path_of(name), text));
    std::int64_t& size = batches_[name];
    bytes_ += static_cast<std::int64_t>(text.size()) - size;
    size = static_cast<std::int64_t>(text.size());
    return {};
}

Result<> UsageFolder::add(std::span<const UsageRecord> records) {
    const MutexLock lock(mutex_);
    while (!records.empty()) {
        const auto part = records.first(std::min(records.size(), kMostRecords));
        TRY_VOID(write_batch(name_of(last_number_ + 1), part));
        ++last_number_;
        records = records.subspan(part.size());
    }
    return remove_excess();
}

Result<> UsageFolder::remove_excess() {
    int removed = 0;
    while (bytes_ > options_.most_bytes && batches_.size() > 1) {
        TRY_VOID(remove_batch(std::string(batches_.begin()->first)));
        ++removed;
    }
    lost_ += removed;
    if (removed > 0) {
        log_event(Event::usage_removed, {{"folder", options_.folder.string()}, {"files", removed}});
    }
    return {};
}

Result<std::vector<UsageRecord>> UsageFolder::read_batch(const std::string& name) const {
    TRY(const std::string text, read_text_file_up_to(path_of(name), kMostFileBytes));
    auto records = read_usage_records(text);
    if (!records) return fail(records.error().in(path_of(name)));
    return records;
}

Result<std::optional<UsageBatch>> UsageFolder::oldest() {
    const MutexLock lock(mutex_);
    while (!batches_.empty()) {
        const std::string name = batches_.begin()->first;
        auto records = read_batch(name);
        if (records && !records->empty()) return UsageBatch{name, *std::move(records)};
        if (records || records.error().code == Code::not_found) {
            TRY_VOID(remove_batch(name));
        } else if (records.error().code == Code::invalid_argument) {
            TRY_VOID(reject_file(name, records.error().text));
        } else {
            return fail(records.error());
        }
    }
    return std::optional<UsageBatch>();
}

Result<> UsageFolder::remove_batch(const std::string& name) {
    if (::unlink(path_of(name).c_str()) != 0 && errno != ENOENT) return failed(path_of(name));
    const auto at = batches_.find(name);
    if (at == batches_.end()) return {};
    bytes_ -= at->second;
    batches_.erase(at);
    return {};
}

Result<> UsageFolder::remove(const UsageBatch& batch) {
    const MutexLock lock(mutex_);
    return remove_batch(batch.name);
}

Result<> UsageFolder::reject_file(const std::string& name, const std::string& why) {
    std::string target = path_of(name) + ".rejected";
    for (int n = 2; fs::exists(target); ++n)
        target = fmt::format("{}.{}.rejected", path_of(name), n);
    if (std::rename(path_of(name).c_str(), target.c_str()) != 0 && errno != ENOENT)
        return failed(path_of(name));
    log_event(Event::usage_rejected, {{"file", target}, {"reason", why}});
    ++lost_;
    return remove_batch(name);
}

Result<> UsageFolder::reject(const UsageBatch& batch) {
    const MutexLock lock(mutex_);
    return reject_file(batch.name, "the ledger refuses these records");
}

// The joined batch replaces the first one, and the others are removed after that. If the agent is
// killed in between, some records are there twice, and the ledger takes them once.
Result<> UsageFolder::join() {
    const MutexLock lock(mutex_);
    if (batches_.size() <= options_.most_batches) return {};
    std::vector<std::string> names;
    std::vector<UsageRecord> records;
    std::int64_t bytes = 0;
    for (const auto& [name, size] : batches_) {
        const bool is_full = bytes + size > kMostJoinedBytes;
        if (names.size() >= options_.most_batches / 2 || (is_full && names.size() >= 2)) break;
        if (is_full) {
            // What is joined already stays unchanged.
            names.clear();
            records.clear();
            bytes = 0;
            if (size > kMostJoinedBytes) continue;
        }
        const auto read = read_batch(name);
        if (!read) break;  // oldest() rejects it
        names.push_back(name);
        records.insert(records.end(), read->begin(), read->end());
        bytes += size;
    }
    if (names.size() < 2) return {};
    TRY_VOID(write_batch(names.front(), roll_up(records)));
    for (std::size_t i = 1; i < names.size(); ++i)
        TRY_VOID(remove_batch(names[i]));
    return {};
}

SpoolUse UsageFolder::use() const {
    const MutexLock lock(mutex_);
    return {.batches = batches_.size(), .bytes = bytes_, .lost = lost_};
}

}  // namespace tessera
