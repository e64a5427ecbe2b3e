// A ledger in memory: the domain's own functions over all records. One thread at a time.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "domain/budget/roll_up.hpp"
#include "ports/ledger/ledger_store.hpp"

namespace tessera {

class FakeLedgerStore final : public LedgerStore {
  public:
    // What each call fails with.
    std::optional<Error> fault;
    std::vector<std::int64_t> rolled_up_before;
    std::vector<std::int64_t> removed_before;

    Result<AddedRecords> add(std::span<const UsageRecord> records) override {
        if (fault) return fail(*fault);
        const std::size_t before = records_.size();
        std::vector<UsageRecord> all = records_;
        all.insert(all.end(), records.begin(), records.end());
        records_ = distinct_records(all);
        const auto added = static_cast<std::int64_t>(records_.size() - before);
        return AddedRecords{added, static_cast<std::int64_t>(records.size()) - added};
    }
    Result<std::vector<UsageRecord>> records(const std::string& ns, Window window) override {
        if (fault) return fail(*fault);
        std::vector<UsageRecord> out;
        for (UsageRecord record : records_) {
            record.time = intersect(record.time, window);
            if (record.name.ns == ns && record.time.seconds() > 0) out.push_back(record);
        }
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
        std::map<std::string, std::vector<UsageSum>> out;
        for (const UsageRecord& record : records_) {
            TRY(out[record.name.ns], usage(record.name.ns, window));
        }
        if (fault) return fail(*fault);
        std::erase_if(out, [](const auto& each) { return each.second.empty(); });
        return out;
    }
    Result<RolledUp> roll_up(std::int64_t before_s) override {
        if (fault) return fail(*fault);
        rolled_up_before.push_back(before_s);
        const auto rows = static_cast<std::int64_t>(records_.size());
        return RolledUp{rows, static_cast<std::int64_t>(tessera::roll_up(records_).size())};
    }
    Result<std::int64_t> remove_before(std::int64_t unix_s) override {
        if (fault) return fail(*fault);
        removed_before.push_back(unix_s);
        return static_cast<std::int64_t>(std::erase_if(
            records_, [unix_s](const UsageRecord& each) { return each.time.to_s <= unix_s; }));
    }

  private:
    std::vector<UsageRecord> records_;
};

}  // namespace tessera
