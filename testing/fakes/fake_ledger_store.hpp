// A ledger in memory: the domain's own functions over all records. One thread at a time.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "domain/budget/roll_up.hpp"
#include "ports/ledger/check_stored.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

// Passes the tests of the port (src/adapters/ledger/ledger_store_test.cpp).
class FakeLedgerStore final : public LedgerStore {
  public:
    // What each call fails with.
    std::optional<Error> fault;
    std::vector<std::int64_t> rolled_up_before;
    std::vector<std::int64_t> removed_before;

    Result<AddedRecords> add(std::span<const UsageRecord> records) override {
        if (fault) return fail(*fault);
        for (const UsageRecord& record : records)
            TRY_VOID(check_stored(record));
        AddedRecords added;
        std::map<Group, std::vector<UsageRecord>> groups;
        for (const UsageRecord& record : records) {
            if (hour_of(record.time.from_s) < removed_hour_) {
                added.copies += std::ssize(split_into_intervals(record));
            } else {
                groups[group_of(record)].push_back(record);
            }
        }
        for (const auto& [group, of_group] : groups)
            add_group(group, of_group, added);
        return added;
    }
    Result<std::vector<UsageRecord>> records(const std::string& ns, Window window) override {
        if (fault) return fail(*fault);
        std::vector<UsageRecord> out;
        for (const auto& [group, stored] : groups_) {
            for (UsageRecord record : stored) {
                record.time = intersect(record.time, window);
                if (record.name.ns == ns && record.time.seconds() > 0) out.push_back(record);
            }
        }
        std::ranges::sort(out);
        return out;
    }
    Result<std::vector<UsageSum>> usage(const std::string& ns, Window window) override {
        TRY(const auto found, records(ns, window));
        std::map<UsageShape, std::int64_t> seconds;
        for (const UsageRecord& record : found)
            seconds[shape_of(record)] += record.time.seconds();
        std::vector<UsageSum> out;
        out.reserve(seconds.size());
        for (const auto& [shape, sum] : seconds)
            out.push_back({shape, sum});
        return out;
    }
    Result<std::map<std::string, std::vector<UsageSum>>> usage_by_namespace(
        Window window) override {
        if (fault) return fail(*fault);
        std::set<std::string> names;
        for (const auto& [group, stored] : groups_) {
            for (const UsageRecord& record : stored)
                names.insert(record.name.ns);
        }
        std::map<std::string, std::vector<UsageSum>> out;
        for (const std::string& name : names) {
            TRY(out[name], usage(name, window));
        }
        std::erase_if(out, [](const auto& each) { return each.second.empty(); });
        return out;
    }
    Result<std::map<std::string, KeptBudget>> budgets() override {
        if (fault) return fail(*fault);
        return budgets_;
    }
    Result<> keep_budgets(const std::map<std::string, KeptBudget>& budgets) override {
        if (fault) return fail(*fault);
        std::int64_t latest_s = 0;
        for (const auto& [ns, budget] : budgets) {
            const auto known = budgets_.find(ns);
            if (known == budgets_.end() || known->second.uid != budget.uid ||
                known->second.state.last_seen_s <= budget.state.last_seen_s)
                budgets_.insert_or_assign(ns, budget);
            latest_s = std::max(latest_s, budget.state.last_seen_s);
        }
        std::erase_if(budgets_, [latest_s](const auto& each) {
            return each.second.state.last_seen_s < latest_s - kBudgetsKeptSeconds;
        });
        return {};
    }
    Result<RolledUp> roll_up(std::int64_t before_s, const std::stop_token& stop) override {
        if (fault) return fail(*fault);
        rolled_up_before.push_back(before_s);
        RolledUp rows;
        if (stop.stop_requested()) return rows;
        std::erase_if(pending_, [&](const Group& group) {
            if (std::get<3>(group) >= end_of_hours(before_s)) return false;
            std::vector<UsageRecord>& stored = groups_[group];
            rows.rows_before += std::ssize(stored);
            stored = tessera::roll_up(stored);
            rows.rows_after += std::ssize(stored);
            return true;
        });
        return rows;
    }
    Result<std::int64_t> remove_before(std::int64_t unix_s, const std::stop_token& stop) override {
        if (fault) return fail(*fault);
        removed_before.push_back(unix_s);
        std::int64_t rows = 0;
        if (stop.stop_requested()) return rows;
        removed_hour_ = std::max(removed_hour_, end_of_hours(unix_s));
        const auto is_old = [this](const Group& group) {
            return std::get<3>(group) < removed_hour_;
        };
        std::erase_if(pending_, is_old);
        std::erase_if(groups_, [&](const auto& each) {
            if (!is_old(each.first)) return false;
            rows += std::ssize(each.second);
            return true;
        });
        return rows;
    }

  private:
    using Group = std::tuple<PodUid, std::string, GpuUuid, std::int64_t>;  // the last: the hour

    static std::int64_t hour_of(std::int64_t unix_s) { return unix_s / kRollUpSeconds; }
    static std::int64_t end_of_hours(std::int64_t unix_s) {
        return hour_of(std::clamp<std::int64_t>(unix_s, 0, kEndOfTime));
    }
    static Group group_of(const UsageRecord& record) {
        return {record.pod, record.container, record.gpu, hour_of(record.time.from_s)};
    }
    static std::vector<UsageRecord> split(const std::vector<UsageRecord>& records) {
        std::vector<UsageRecord> pieces;
        for (const UsageRecord& record : records)
            std::ranges::move(split_into_intervals(record), std::back_inserter(pieces));
        std::ranges::sort(pieces);
        return pieces;
    }
    void add_group(const Group& group, const std::vector<UsageRecord>& records,
                   AddedRecords& added) {
        std::vector<UsageRecord>& stored = groups_[group];
        std::vector<UsageRecord> all = stored;
        all.insert(all.end(), records.begin(), records.end());
        std::vector<UsageRecord> merged = distinct_records(all);
        std::vector<UsageRecord> changes;
        std::ranges::set_difference(split(merged), split(stored), std::back_inserter(changes));
        added.added += std::ssize(changes);
        added.copies += std::ssize(split(records)) - std::ssize(changes);
        // A copy of an interval of a roll-up would split it.
        if (changes.empty()) return;
        stored = std::move(merged);
        pending_.insert(group);
    }

    std::map<Group, std::vector<UsageRecord>> groups_;
    std::set<Group> pending_;
    std::int64_t removed_hour_ = 0;
    std::map<std::string, KeptBudget> budgets_;
};

}  // namespace tessera
