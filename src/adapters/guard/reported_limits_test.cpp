// Goal: what was reported about a container survives the agent, and ends with the pod's files.
#include "adapters/guard/reported_limits.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class ReportedLimitsTest : public testing::Test {
  protected:
    fs::path pods_ = fs::temp_directory_path() / ("reported-" + std::to_string(getpid()));
    fs::path region_ = pods_ / "uid-p" / "main";
    ReportedLimitFiles reported_{pods_};
    ShareUse use_{.pod = PodUid("uid-p"), .container = "main", .gpu = GpuUuid("GPU-a")};

    void SetUp() override { fs::create_directories(region_); }
    void TearDown() override { fs::remove_all(pods_); }
};

TEST_F(ReportedLimitsTest, KnowsWhatWasToldAsLongAsThePodIsKept) {
    ShareUse other = use_;
    other.gpu = GpuUuid("GPU-other");
    EXPECT_EQ(reported_.reported(use_), std::nullopt);
    const ReportedLimit all{gibibytes(3), ReportedLimit::kAll};
    reported_.note_reported(use_, all);
    reported_.note_reported(other, {gibibytes(1), 7});
    const ReportedLimitFiles after_a_restart(pods_);
    EXPECT_EQ(after_a_restart.reported(use_), all);
    EXPECT_EQ(after_a_restart.reported(other), (ReportedLimit{gibibytes(1), 7}));
    fs::remove_all(region_.parent_path());
    EXPECT_EQ(reported_.reported(use_), std::nullopt);
}

TEST_F(ReportedLimitsTest, RemembersThatDamageWasTold) {
    EXPECT_FALSE(reported_.is_reported(ContainerNotice::damaged_accounts, use_));
    reported_.note_reported(ContainerNotice::damaged_accounts, use_, true);
    const ReportedLimitFiles after_a_restart(pods_);
    EXPECT_TRUE(after_a_restart.is_reported(ContainerNotice::damaged_accounts, use_));
    reported_.note_reported(ContainerNotice::damaged_accounts, use_, false);
    EXPECT_FALSE(reported_.is_reported(ContainerNotice::damaged_accounts, use_));
    reported_.note_reported(ContainerNotice::damaged_accounts, use_, false);
}

// Goal: agents of all releases read the same files.
TEST_F(ReportedLimitsTest, KeepsItsFormat) {
    reported_.note_reported(use_, {Bytes{3}, 7});
    EXPECT_EQ(read_text_file(region_ / "reported"), "GPU-a 3 7\n");
    reported_.note_reported(ContainerNotice::damaged_accounts, use_, true);
    EXPECT_EQ(read_text_file(region_ / "reported-damage"), "");
}

// Goal: a container that is limited only from outside has no region, and is reported once, too.
TEST_F(ReportedLimitsTest, AContainerWithoutARegion) {
    use_.pod = PodUid("uid-outside");
    reported_.note_reported(use_, {Bytes{3}, 7});
    EXPECT_EQ(reported_.reported(use_), (ReportedLimit{Bytes{3}, 7}));
}

}  // namespace
}  // namespace tessera
