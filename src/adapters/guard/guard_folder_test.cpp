// Goal: a container gets what it needs to be held, the same when it starts again; what is gone
// leaves nothing; and the library of a running container is never written to.
#include "adapters/guard/guard_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "adapters/os/system_clock.hpp"
#include "guard/region/account.hpp"
#include "guard/region/life.hpp"
#include "guard/region/limits.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

const GpuUuid card("GPU-01234567-89ab-cdef-0123-456789abcdef");

class GuardFolderTest : public testing::Test {
  protected:
    fs::path scratch_ = fs::temp_directory_path() / ("guard-folder-" + std::to_string(getpid()));
    fs::path folder_ = scratch_ / "a" / "guard";
    fs::path region_ = folder_ / "pods/uid-p/main";
    SystemClock clock_;
    GuardFolder guard_{{.folder = folder_, .library = scratch_ / "new.so"}, clock_};

    void SetUp() override {
        fs::create_directories(scratch_);
        write(scratch_ / "new.so", "the library");
    }
    void TearDown() override { fs::remove_all(scratch_); }

    static void write(const fs::path& path, const std::string& text) {
        std::ofstream(path) << text;
    }
    static std::string read(const fs::path& path) {
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
    Result<std::vector<FileMount>> hold(std::int64_t gib) {
        return guard_.hold({PodUid("uid-p"), {"space", "p"}, "main"},
                           {{card, Bytes{gib << 30}, Percent{25}}});
    }
};

TEST_F(GuardFolderTest, GivesAContainerItsRegionAndTheLibrary) {
    ASSERT_TRUE(guard_.install());
    const auto mounts = hold(3);
    ASSERT_TRUE(mounts) << mounts.error().text;
    EXPECT_EQ(*mounts,
              (std::vector<FileMount>{
                  {folder_ / "libtessera-guard.so", "/usr/local/tessera/libtessera-guard.so"},
                  {region_ / "limits", "/usr/local/tessera/limits"},
                  {region_ / "accounts", "/usr/local/tessera/accounts", false},
                  {folder_ / "ld.so.preload", "/etc/ld.so.preload"},
              }));
    EXPECT_EQ(read(mounts->at(0).source), "the library");
    EXPECT_EQ(read(mounts->at(3).source), "/usr/local/tessera/libtessera-guard.so\n");
    EXPECT_EQ(guard::open_limits((region_ / "limits").c_str())->cards[0].memory, 3U * 512);
}

TEST_F(GuardFolderTest, AContainerThatStartsAgainKeepsItsRegion) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    struct stat before = {};
    struct stat after = {};
    ASSERT_EQ(stat((region_ / "accounts").c_str(), &before), 0);
    ASSERT_TRUE(hold(3));
    ASSERT_EQ(stat((region_ / "accounts").c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(GuardFolderTest, ANewLibraryIsANewFile) {
    ASSERT_TRUE(guard_.install());
    const std::ifstream mapped(folder_ / "libtessera-guard.so");
    write(scratch_ / "new.so", "a newer library");
    ASSERT_TRUE(guard_.install());
    std::stringstream old;
    old << mapped.rdbuf();
    EXPECT_EQ(old.str(), "the library");
    EXPECT_EQ(read(folder_ / "libtessera-guard.so"), "a newer library");
}

TEST_F(GuardFolderTest, ForgetsTheGone) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    EXPECT_EQ(guard_.pods(), std::set<PodUid>{PodUid("uid-p")});
    guard_.forget(PodUid("another"));
    EXPECT_TRUE(fs::exists(region_ / "accounts"));
    guard_.forget(PodUid("uid-p"));
    EXPECT_FALSE(fs::exists(region_.parent_path()));
}

// A process of the container, as the accounts know it.
TEST_F(GuardFolderTest, SaysWhatContainersMakeOfTheirShares) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    guard::Seat seat;
    ASSERT_EQ(guard::take_seat((region_ / "accounts").c_str(), seat), guard::SeatError::none);
    ASSERT_TRUE(guard::reserve(*seat.accounts, 0, seat.slot, 512, 1536));
    seat.accounts->cards[0].refusals = 2;
    seat.accounts->times[seat.slot][0].in_flight[0].total_ns = 1'500'000'000;
    seat.accounts->times[seat.slot][0].waited_ns = 7;
    const auto uses = guard_.uses();
    ASSERT_EQ(uses.size(), 1U);
    EXPECT_EQ(uses[0].pod, PodUid("uid-p"));
    EXPECT_EQ(uses[0].name, (PodName{"space", "p"}));
    EXPECT_EQ(uses[0].container, "main");
    EXPECT_EQ(uses[0].cores, Percent{25});
    EXPECT_EQ(uses[0].ceiling, kNoCeiling);
    EXPECT_FALSE(uses[0].is_damaged);
    EXPECT_EQ(uses[0].card, card);
    EXPECT_EQ(uses[0].held, Bytes{std::int64_t{1} << 30});
    EXPECT_EQ(uses[0].limit, Bytes{std::int64_t{3} << 30});
    EXPECT_EQ(uses[0].refusals, 2);
    EXPECT_EQ(uses[0].in_flight.kernels_ns, 1'500'000'000);
    EXPECT_EQ(uses[0].waited_ns, 7);
    EXPECT_EQ(uses[0].processes,
              (std::vector<ProcessUse>{{.pid = getpid(), .held = Bytes{std::int64_t{1} << 30}}}));
    seat.accounts->cards[0].refusals = ~std::uint64_t{0};
    seat.accounts->slots[seat.slot].pid = -1;
    seat.accounts->slots[seat.slot].held[0].value = ~std::uint64_t{0};
    seat.accounts->cards[0].last_move = {};
    const ShareUse lies = guard_.uses().at(0);
    EXPECT_EQ(lies.held, lies.limit) << "nobody is believed to hold more than he ever could";
    EXPECT_GE(lies.refusals, 0);
    EXPECT_EQ(lies.processes.at(0).pid, 0);
    fs::resize_file(region_ / "accounts", 3);
    ASSERT_EQ(guard_.uses().size(), 1U) << "the container is held all the same";
    EXPECT_EQ(guard_.uses()[0].limit, Bytes{std::int64_t{3} << 30});
    EXPECT_EQ(guard_.uses()[0].held, Bytes{});
    EXPECT_TRUE(guard_.uses()[0].is_damaged);
}

TEST_F(GuardFolderTest, KnowsWhoWasToldAsLongAsThePodIsKept) {
    ASSERT_TRUE(hold(3));
    EXPECT_EQ(guard_.refusals_told(PodUid("uid-p"), "main"), 0);
    guard_.note_told(PodUid("uid-p"), "main");
    ASSERT_TRUE(hold(3));
    const GuardFolder after_a_restart({.folder = folder_, .library = {}}, clock_);
    EXPECT_GT(after_a_restart.refusals_told(PodUid("uid-p"), "main"), 1'000'000);
    EXPECT_EQ(guard_.refusals_told(PodUid("uid-p"), "side"), 0);
    guard_.forget(PodUid("uid-p"));
    EXPECT_EQ(guard_.refusals_told(PodUid("uid-p"), "main"), 0);
}

// Goal: after a growth the next refusal is news again, also when the container starts again.
TEST_F(GuardFolderTest, AGrownLimitIsReachedAnew) {
    ASSERT_TRUE(hold(3));
    guard::Seat seat;
    ASSERT_EQ(guard::take_seat((region_ / "accounts").c_str(), seat), guard::SeatError::none);
    seat.accounts->cards[0].refusals = 2;
    const auto resize = [&](std::int64_t gib) {
        return guard_.limits().change(PodUid("uid-p"), "main", {{card, Bytes{gib * kGiB}, {25}}});
    };
    ASSERT_TRUE(resize(4));
    EXPECT_EQ(guard_.refusals_told(PodUid("uid-p"), "main"), 0) << "nobody was told before";
    guard_.note_told(PodUid("uid-p"), "main");
    ASSERT_TRUE(resize(3));
    EXPECT_GT(guard_.refusals_told(PodUid("uid-p"), "main"), 1'000'000);
    ASSERT_TRUE(resize(5));
    EXPECT_EQ(guard_.refusals_told(PodUid("uid-p"), "main"), 2);
    ASSERT_TRUE(hold(5));
    EXPECT_EQ(guard_.refusals_told(PodUid("uid-p"), "main"), 0);
}

TEST_F(GuardFolderTest, SaysWhatItIsSureOfOfACardsTime) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    const guard::Limits* limits = guard::open_limits((region_ / "limits").c_str());
    ASSERT_NE(limits, nullptr);
    EXPECT_EQ(limits->cards[0].cores.load(), guard::kWhole / 4);
    EXPECT_EQ(limits->cards[0].ceiling.load(), guard::kWhole);
}

TEST_F(GuardFolderTest, SaysWhatIsWrong) {
    fs::remove(scratch_ / "new.so");
    const auto none = guard_.install();
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text,
              "guard_library: there is no file " + (scratch_ / "new.so").string());
    const auto odd =
        guard_.hold({PodUid("uid-p"), {}, "main"}, {{GpuUuid("index-3"), Bytes{1}, Percent{0}}});
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().text.find("Invalid argument"), std::string::npos) << odd.error().text;
    write(scratch_ / "file", "");
    const GuardFolder nowhere({.folder = scratch_ / "file", .library = scratch_ / "new.so"},
                              clock_);
    EXPECT_FALSE(nowhere.install());
}

}  // namespace
}  // namespace tessera
