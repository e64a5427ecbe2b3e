// The UsageSpool port, in a folder of the node that only root reads:
//
//     FOLDER/state.json           how far the pods are charged (meter_state_json.hpp)
//     FOLDER/records-NUMBER.json  records for the ledger, oldest first (usage_records_json.hpp)
//     FOLDER/NAME.rejected        a file that cannot be used
//
// A file of a newer release is left as it was, and is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "ports/metering/usage_spool.hpp"

namespace tessera {

struct UsageFolderOptions {
    std::filesystem::path folder;
    std::int64_t most_bytes = std::int64_t{512} << 20;  // of records
    // join() joins batches when there are more than this many.
    std::size_t most_batches = 120;
};

class UsageFolder final : public UsageSpool {
  public:
    explicit UsageFolder(UsageFolderOptions options) : options_(std::move(options)) {}

    // Makes the folder, and lists what an earlier agent left. Call it before all others. An error
    // names the folder and the reason.
    Result<> open();

    Result<MeterState> read_state() override;
    Result<> write_state(const MeterState& state) override;
    Result<> add(std::span<const UsageRecord> records) override;
    Result<std::optional<UsageBatch>> oldest() override;
    Result<> remove(const UsageBatch& batch) override;
    Result<> reject(const UsageBatch& batch) override;
    Result<> join() override;
    [[nodiscard]] SpoolUse use() const override;

  private:
    using Sizes = std::map<std::string, std::int64_t>;  // of the files with records, by name

    [[nodiscard]] std::string path_of(const std::string& name) const {
        return options_.folder / name;
    }
    [[nodiscard]] Result<std::vector<UsageRecord>> read_batch(const std::string& name) const;
    Result<> write_batch(const std::string& name, std::span<const UsageRecord> records)
        TESSERA_REQUIRES(mutex_);
    Result<> remove_batch(const std::string& name) TESSERA_REQUIRES(mutex_);
    Result<> reject_file(const std::string& name, const std::string& why) TESSERA_REQUIRES(mutex_);
    Result<> remove_excess() TESSERA_REQUIRES(mutex_);

    const UsageFolderOptions options_;
    mutable Mutex mutex_;
    Sizes batches_ TESSERA_GUARDED_BY(mutex_);
    std::int64_t bytes_ TESSERA_GUARDED_BY(mutex_) = 0;
    std::int64_t last_number_ TESSERA_GUARDED_BY(mutex_) = 0;
    std::int64_t lost_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
