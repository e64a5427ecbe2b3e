#include "adapters/metering/usage_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "adapters/os/text_file.hpp"
#include "domain/budget/roll_up.hpp"
#include "testing/builders/usage_records.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

UsageRecord record(std::int64_t interval, std::string container = "main") {
    UsageRecord out = build::usage("u1", {interval * 60, interval * 60 + 60});
    out.container = std::move(container);
    return out;
}

class UsageFolderTest : public testing::Test {
  protected:
    UsageFolderTest() {
        std::string path = (fs::temp_directory_path() / "usage.XXXXXX").string();
        folder_ = fs::path(::mkdtemp(path.data())) / "usage";
    }
    ~UsageFolderTest() override { fs::remove_all(folder_.parent_path()); }

    [[nodiscard]] UsageFolderOptions options() const { return {.folder = folder_}; }
    // All records that are kept, which are removed.
    static std::vector<UsageRecord> take_all(UsageFolder& folder) {
        std::vector<UsageRecord> all;
        while (const auto batch = folder.oldest().value()) {
            all.insert(all.end(), batch->records.begin(), batch->records.end());
            EXPECT_TRUE(folder.remove(*batch));
        }
        return all;
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }

    fs::path folder_;
};

// Goal: the next agent finds what the last one left, oldest first.
TEST_F(UsageFolderTest, KeepsRecordsAndStateForTheNextAgent) {
    MeterState state{.boot = "b1", .pods = {}};
    {
        UsageFolder folder(options());
        ASSERT_TRUE(folder.open());
        EXPECT_EQ(folder.read_state().value(), MeterState{});
        ASSERT_TRUE(folder.write_state(state));
        for (std::int64_t i = 1; i <= 12; ++i)
            ASSERT_TRUE(folder.add({{record(i)}}));
    }
    EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
    UsageFolder folder(options());
    ASSERT_TRUE(folder.open());
    EXPECT_EQ(folder.read_state().value(), state);
    EXPECT_EQ(folder.use().batches, 12U);
    EXPECT_GT(folder.use().bytes, 12 * 100);
    ASSERT_TRUE(folder.add({{record(13)}}));
    const auto all = take_all(folder);
    ASSERT_EQ(all.size(), 13U);
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(all[i], record(static_cast<std::int64_t>(i) + 1));
    EXPECT_EQ(folder.use().batches, 0U);
    EXPECT_EQ(folder.use().bytes, 0);
}

// Goal: what a killed agent left half written is removed, and nothing else.
TEST_F(UsageFolderTest, RemovesUnfinishedFiles) {
    ASSERT_TRUE(UsageFolder(options()).open());
    write("records-0000000000000000007.json.a1B2c3", "{\"ver");
    write("state.json.a1B2c3", "");
    write("notes.json.a1B2c3", "");
    UsageFolder folder(options());
    ASSERT_TRUE(folder.open());
    EXPECT_EQ(files_in(folder_), std::vector<std::string>{"notes.json.a1B2c3"});
}

// Goal: no file is replaced because it cannot be read.
TEST_F(UsageFolderTest, RejectsDamagedFiles) {
    UsageFolder folder(options());
    ASSERT_TRUE(folder.open());
    for (const std::int64_t i : {1, 2, 3})
        ASSERT_TRUE(folder.add({{record(i)}}));
    write("records-0000000000000000001.json", "{\"version\":1,");
    write("records-0000000000000000002.json", "{\"version\":1}");
    EXPECT_EQ(take_all(folder), std::vector{record(3)});
    EXPECT_EQ(folder.use().lost, 2);
    EXPECT_TRUE(fs::exists(folder_ / "records-0000000000000000001.json.rejected"));
    for (const char* text : {"damaged", "damaged again"}) {
        write("state.json", text);
        EXPECT_EQ(folder.read_state().value(), MeterState{});
    }
    EXPECT_EQ(read_text_file((folder_ / "state.json.rejected").string()).value(), "damaged");
    EXPECT_EQ(read_text_file((folder_ / "state.json.2.rejected").string()).value(),
              "damaged again");
    EXPECT_FALSE(fs::exists(folder_ / "state.json"));
    // An agent that starts again leaves them alone.
    UsageFolder next(options());
    ASSERT_TRUE(next.open());
    EXPECT_EQ(next.use().batches, 0U);
    EXPECT_TRUE(fs::exists(folder_ / "records-0000000000000000002.json.rejected"));
}

// Goal: after a rollback to this release nothing of the newer one is lost.
TEST_F(UsageFolderTest, LeavesFilesOfANewerReleaseUnchanged) {
    UsageFolder folder(options());
    ASSERT_TRUE(folder.open());
    ASSERT_TRUE(folder.add({{record(1)}}));
    write("records-0000000000000000001.json", "{\"version\":9}");
    write("state.json", "{\"version\":9}");
    ASSERT_FALSE(folder.oldest());
    EXPECT_EQ(folder.oldest().error().code, Code::unsupported);
    ASSERT_FALSE(folder.read_state());
    EXPECT_EQ(folder.read_state().error().code, Code::unsupported);
    EXPECT_TRUE(fs::exists(folder_ / "records-0000000000000000001.json"));
    EXPECT_TRUE(fs::exists(folder_ / "state.json"));
}

// Goal: the ledger takes each batch, however many records an agent makes at a time.
TEST_F(UsageFolderTest, ManyRecordsAreSeveralBatches) {
    UsageFolder folder(options());
    ASSERT_TRUE(folder.open());
    std::vector<UsageRecord> many;
    for (int i = 0; i < 9'000; ++i)
        many.push_back(record(1, "c" + std::to_string(i)));
    ASSERT_TRUE(folder.add(many));
    EXPECT_EQ(folder.use().batches, 3U);
    EXPECT_EQ(take_all(folder), many);
}

// Goal: a folder that the node uses for more keeps its modes.
TEST_F(UsageFolderTest, LeavesTheModesOfAFolderThatExists) {
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms(0755));
    ASSERT_TRUE(UsageFolder(options()).open());
    EXPECT_EQ(fs::status(folder_).permissions(), fs::perms(0755));
}

TEST_F(UsageFolderTest, RejectsWhatTheLedgerRefuses) {
    UsageFolder folder(options());
    ASSERT_TRUE(folder.open());
    ASSERT_TRUE(folder.add({{record(1)}}));
    ASSERT_TRUE(folder.reject(*folder.oldest().value()));
    EXPECT_FALSE(folder.oldest().value());
    EXPECT_TRUE(fs::exists(folder_ / "records-0000000000000000001.json.rejected"));
}

TEST_F(UsageFolderTest, JoinsManyBatchesWithoutALoss) {
    UsageFolderOptions few = options();
    few.most_batches = 20;
    UsageFolder folder(few);
    ASSERT_TRUE(folder.open());
    std::vector<UsageRecord> added;
    for (std::int64_t i = 1; i <= 200; ++i) {
        added.push_back(record(i));
        ASSERT_TRUE(folder.add({{record(i)}}));
        ASSERT_TRUE(folder.join());
        EXPECT_LE(folder.use().batches, 21U);
    }
    EXPECT_EQ(folder.use().bytes, [this] {
        std::int64_t sum = 0;
        for (const fs::path& path : paths_in(folder_))
            sum += static_cast<std::int64_t>(fs::file_size(path));
        return sum;
    }());
    EXPECT_EQ(roll_up(take_all(folder)), roll_up(added));
}

// Goal: a batch that became large is not joined again and again, and does not stop the others.
TEST_F(UsageFolderTest, JoinsBatchesBehindLargeOnes) {
    UsageFolderOptions few = options();
    few.most_batches = 4;
    UsageFolder folder(few);
    ASSERT_TRUE(folder.open());
    std::vector<UsageRecord> large;
    for (int i = 0; i < 4'000; ++i)
        large.push_back(record(1, std::string(1'000, 'c') + std::to_string(i)));
    ASSERT_TRUE(folder.add(large));
    for (std::int64_t i = 2; i < 30; ++i) {
        ASSERT_TRUE(folder.add({{record(i)}}));
        ASSERT_TRUE(folder.join());
    }
    EXPECT_LE(folder.use().batches, 5U);
    EXPECT_EQ(roll_up(take_all(folder)).size(), large.size() + 1);
}

// Goal: a ledger that is never back does not fill the node's disk.
TEST_F(UsageFolderTest, RemovesTheOldestWhenThereAreTooMany) {
    UsageFolderOptions small = options();
    small.most_bytes = 1'000;
    UsageFolder folder(small);
    ASSERT_TRUE(folder.open());
    for (std::int64_t i = 1; i <= 20; ++i)
        ASSERT_TRUE(folder.add({{record(i)}}));
    EXPECT_LE(folder.use().bytes, 1'000);
    EXPECT_GT(folder.use().lost, 10);
    EXPECT_EQ(take_all(folder).back(), record(20));
}

TEST_F(UsageFolderTest, SaysWhichFolderCannotBeUsed) {
    std::ofstream(folder_) << "a file";
    const auto opened = UsageFolder(options()).open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().text.find(folder_.string()), std::string::npos);
}

}  // namespace
}  // namespace tessera
