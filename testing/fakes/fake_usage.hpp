// Where an agent keeps and sends GPU time, as a test sets it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ports/metering/ledger_client.hpp"
#include "ports/metering/meter_clock.hpp"
#include "ports/metering/usage_spool.hpp"

namespace tessera {

// Used by one thread.
class FakeUsageSpool final : public UsageSpool {
  public:
    Result<MeterState> read_state() override {
        if (!fault) return fail(fault.error());
        return state;
    }
    Result<> write_state(const MeterState& next) override {
        if (!fault) return fault;
        ++state_writes;
        state = next;
        return {};
    }
    Result<> add(std::span<const UsageRecord> records) override {
        if (!fault) return fault;
        batches.push_back({std::to_string(++last_), {records.begin(), records.end()}});
        return {};
    }
    Result<std::optional<UsageBatch>> oldest() override {
        if (!fault) return fail(fault.error());
        if (batches.empty()) return std::optional<UsageBatch>();
        return batches.front();
    }
    Result<> remove(const UsageBatch& batch) override {
        std::erase_if(batches, [&](const UsageBatch& other) { return other.name == batch.name; });
        return fault;
    }
    Result<> reject(const UsageBatch& batch) override {
        rejected.push_back(batch);
        return remove(batch);
    }
    Result<> join() override {
        ++joins;
        return fault;
    }
    [[nodiscard]] SpoolUse use() const override { return {.batches = batches.size()}; }
    [[nodiscard]] std::vector<UsageRecord> records() const {
        std::vector<UsageRecord> all;
        for (const UsageBatch& batch : batches)
            all.insert(all.end(), batch.records.begin(), batch.records.end());
        return all;
    }

    Result<> fault;  // of every call
    MeterState state;
    std::vector<UsageBatch> batches;
    std::vector<UsageBatch> rejected;
    int joins = 0;
    int state_writes = 0;

  private:
    int last_ = 0;
};

// Used by one thread.
class FakeLedgerClient final : public LedgerClient {
  public:
    Result<> send(std::span<const UsageRecord> records, const std::stop_token& /*stop*/) override {
        ++calls;
        if (!answer) return answer;
        if (refused && std::ranges::find(records, *refused) != records.end())
            return fail(Code::invalid_argument, "refused");
        received.insert(received.end(), records.begin(), records.end());
        return {};
    }

    Result<> answer;
    std::optional<UsageRecord> refused;  // the ledger takes no batch with it
    std::vector<UsageRecord> received;
    int calls = 0;
};

class FakeMeterClock final : public MeterClock {
  public:
    [[nodiscard]] MeterTime now() const override { return time; }
    void pass(std::int64_t seconds) {
        time.running_ns += seconds * 1'000'000'000;
        time.unix_ns += seconds * 1'000'000'000;
    }

    MeterTime time{
        .boot = "b1", .running_ns = 1'000'000'000'000, .unix_ns = 1'800'000'000'000'000'000};
};

}  // namespace tessera
